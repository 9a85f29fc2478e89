// Rotary splitting and the gate, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/rotary.h"
#include "kernels/rowwise.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

using Values = std::vector<float>;
constexpr float kUntouched = 555.25f;

Values random_values(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Values values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

TEST(RowwiseRotary, AnglesAreRightToTheLastBit) {
  const std::vector<int64_t> positions = {0, 1, 17, 8191, 1048575};
  const Values frequencies = {1.0f, 0.687656045f, 9.08884704e-06f};
  Values cosines(15), sines(15);
  rotary_angles(5, 3, positions.data(), frequencies.data(), cosines.data(), sines.data());
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 3; ++c) {
      const float angle = static_cast<float>(positions[r]) * frequencies[c];
      EXPECT_EQ(cosines[r * 3 + c], static_cast<float>(std::cos(static_cast<double>(angle))));
      EXPECT_EQ(sines[r * 3 + c], static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
}

TEST(RowwiseRotary, TurnsPairsOfHalves) {
  for_each_target([](const std::string&) {
    for (const int64_t head_dim : {2, 6, 16, 30, 32, 64, 66, 80}) {
      const int64_t rows = 5, heads = 4, plane_rows = 9, half = head_dim / 2;
      const Values x = random_values(rows * heads * head_dim, 1);
      const Values bias = random_values(heads * head_dim, 2);
      const Values angles = random_values(rows * half, 3);
      Values cosines(angles.size()), sines(angles.size());
      for (size_t i = 0; i < angles.size(); ++i) {
        cosines[i] = std::cos(angles[i]);
        sines[i] = std::sin(angles[i]);
      }
      const std::vector<int32_t> list = {2, 0}, destination = {8, 0, 3, 2, 5};
      const std::vector<uint8_t> keep = {1, 0, 1, 1, 0};
      for (const uint8_t* kept : {static_cast<const uint8_t*>(nullptr), keep.data()}) {
        std::vector<double> want(heads * plane_rows * head_dim, kUntouched);
        for (int64_t r = 0; r < rows; ++r) {
          for (const int32_t h : list) {
            double* to = &want[(h * plane_rows + destination[r]) * head_dim];
            for (int64_t c = 0; c < half; ++c) {
              const bool drop = kept != nullptr && kept[r] == 0;
              const auto at = [&](int64_t channel) {
                const int64_t i = h * head_dim + channel;
                return drop ? 0.0 : (double{x[r * heads * head_dim + i]} + bias[i]) * 0.125;
              };
              const double a = at(c), b = at(c + half);
              const double cosine = cosines[r * half + c], sine = sines[r * half + c];
              to[c] = a * cosine - b * sine;
              to[c + half] = b * cosine + a * sine;
            }
          }
        }
        Values out(want.size(), kUntouched);
        split_heads_rotary(rows, heads, head_dim, list.data(), 2, x.data(), bias.data(), 0.125f,
                           kept, destination.data(), plane_rows, cosines.data(), sines.data(),
                           out.data());
        for (size_t i = 0; i < want.size(); ++i) {
          if (want[i] == kUntouched || want[i] == 0.0) {
            ASSERT_EQ(out[i], want[i]) << head_dim << " " << i;
          } else {
            ASSERT_NEAR(out[i], want[i], 2e-7) << head_dim << " " << i;
          }
        }
      }
    }
  });
}

TEST(RowwiseGate, ActivatesTheFirstHalfAndMultipliesByTheSecond) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 3, 16, 33, 96}) {
      const int64_t rows = 7;
      const Values x = random_values(rows * 2 * cols, 4), bias = random_values(2 * cols, 5);
      Values y(rows * cols + 1, kUntouched), in_place = x, activated(rows * cols);
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(&x[r * 2 * cols], cols, &activated[r * cols]);
      }
      bias_activation(rows, cols, Activation::kGelu, bias.data(), activated.data());
      gated_activation(rows, cols, Activation::kGelu, bias.data(), x.data(), y.data());
      gated_activation(rows, cols, Activation::kGelu, bias.data(), in_place.data(),
                       in_place.data());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
          const float gate = x[r * 2 * cols + cols + c] + bias[cols + c];
          ASSERT_EQ(y[r * cols + c], activated[r * cols + c] * gate) << cols << " " << r;
          ASSERT_EQ(in_place[r * cols + c], y[r * cols + c]) << cols << " " << r;
        }
      }
      EXPECT_EQ(y.back(), kUntouched);
    }
  });
}

TEST(RowwiseMove, BiasAndResidualAreAdded) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 5, 16, 50, 64}) {
      const Values x = random_values(3 * cols, 6), bias = random_values(cols, 7),
                   residual = random_values(3 * cols, 8);
      Values y(3 * cols + 1, kUntouched), in_place = residual;
      bias_residual(3, cols, x.data(), bias.data(), residual.data(), y.data());
      bias_residual(3, cols, x.data(), bias.data(), in_place.data(), in_place.data());
      for (int64_t i = 0; i < 3 * cols; ++i) {
        ASSERT_EQ(y[i], (x[i] + bias[i % cols]) + residual[i]);
        ASSERT_EQ(in_place[i], y[i]);
      }
      EXPECT_EQ(y.back(), kUntouched);
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
