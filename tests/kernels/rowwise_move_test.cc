// Head splitting, row scaling and the small sums, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

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

TEST(RowwiseMove, SplitHeadsWritesOnlyTheListedHeadsAndRows) {
  for_each_target([](const std::string&) {
    for (const int64_t head_dim : {1, 7, 16, 32, 33, 64, 80}) {
      const int64_t rows = 5, heads = 4, plane_rows = 9;
      const Values x = random_values(rows * heads * head_dim, 1);
      const Values bias = random_values(heads * head_dim, 2);
      const std::vector<int32_t> list = {2, 0}, destination = {8, 0, 3, 2, 5};
      const std::vector<uint8_t> keep = {1, 0, 1, 1, 0};
      for (const uint8_t* kept : {static_cast<const uint8_t*>(nullptr), keep.data()}) {
        Values want(heads * plane_rows * head_dim, kUntouched);
        for (int64_t r = 0; r < rows; ++r) {
          for (const int32_t h : list) {
            for (int64_t c = 0; c < head_dim; ++c) {
              const int64_t from = h * head_dim + c;
              want[(h * plane_rows + destination[r]) * head_dim + c] =
                  kept != nullptr && kept[r] == 0
                      ? 0.0f
                      : (x[r * heads * head_dim + from] + bias[from]) * 0.125f;
            }
          }
        }
        Values out(want.size(), kUntouched);
        split_heads(rows, heads, head_dim, list.data(), 2, x.data(), bias.data(), 0.125f, kept,
                    destination.data(), plane_rows, out.data());
        ASSERT_EQ(out, want) << "head_dim " << head_dim;
      }
    }
  });
}

TEST(RowwiseMove, ScaleRowsMultipliesEachRow) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 3, 17, 64, 384}) {
      const Values factors = {0.5f, -3.0f, 0.0f};
      Values x = random_values(3 * cols, 3), want = x;
      for (int64_t i = 0; i < 3 * cols; ++i) want[i] *= factors[i / cols];
      x.resize(x.size() + 20, kUntouched);
      want.resize(want.size() + 20, kUntouched);
      scale_rows(3, cols, factors.data(), x.data());
      ASSERT_EQ(x, want);
    }
  });
}

TEST(RowwiseMove, NormalizeRowsDividesAndKeepsTheGaps) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 3, 17, 64, 96}) {
      const Values sums = {0.7f, 0.0f, 3.0f, std::numeric_limits<float>::quiet_NaN()};
      const int64_t stride = cols + 5;
      const Values x = random_values(4 * cols, 4);
      Values y(4 * stride, kUntouched);
      normalize_rows(4, cols, x.data(), sums.data(), stride, y.data());
      for (int64_t r = 0; r < 4; ++r) {
        for (int64_t c = 0; c < stride; ++c) {
          const float got = y[r * stride + c];
          if (c >= cols) {
            ASSERT_EQ(got, kUntouched);
          } else if (r == 1) {
            ASSERT_EQ(got, 0.0f);
          } else if (r == 3) {
            ASSERT_TRUE(std::isnan(got));
          } else {
            ASSERT_EQ(got, x[r * cols + c] / sums[r]);
          }
        }
      }
    }
  });
}

TEST(RowwiseMove, AddScaledAndDotEqualDoublePrecision) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 3, 17, 64, 65, 384, 768, 3072, 3073}) {
      const Values x = random_values(cols, 5), y = random_values(cols, 6);
      double sum = 0, magnitude = 0;
      for (int64_t c = 0; c < cols; ++c) {
        sum += double{x[c]} * y[c];
        magnitude += std::abs(double{x[c]} * y[c]);
      }
      EXPECT_NEAR(dot(cols, x.data(), y.data()), sum, 1e-6 * magnitude);
      Values z = y;
      z.resize(z.size() + 20, kUntouched);
      add_scaled(cols, -1.7f, x.data(), z.data());
      for (int64_t c = 0; c < cols; ++c) {
        ASSERT_NEAR(z[c], y[c] + double{-1.7f} * x[c], 5e-7 * (1 + std::abs(y[c])));
      }
      for (size_t i = cols; i < z.size(); ++i) ASSERT_EQ(z[i], kUntouched);
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
