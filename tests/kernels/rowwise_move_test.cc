// Residuals, row scaling and the small sums, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kUntouched = 555.25f;

// (x + bias) + residual: f32 sums give the bits of the formula, s32 sums are within rounding.
TEST(RowwiseMove, BiasAndResidualAreAdded) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      for (const int64_t cols : {1, 5, 16, 50, 64, 384}) {
        for (const int64_t stride : {cols, cols + 3}) {
          const TestProduct x(kind, 3, cols, 2, 6);
          const Values bias = random_values(cols, 7), residual = random_values(3 * stride, 8);
          Values y(3 * stride + 20, kUntouched), in_place = residual;
          bias_residual(3, cols, x.products(), bias.data(), residual.data(), stride, y.data());
          bias_residual(3, cols, x.products(), bias.data(), in_place.data(), stride,
                        in_place.data());
          for (int64_t i = 0; i < 3 * stride; ++i) {
            const int64_t r = i / stride, c = i % stride;
            if (c >= cols) {
              ASSERT_EQ(y[i], kUntouched);
              ASSERT_EQ(in_place[i], residual[i]);
              continue;
            }
            const double exact = x.value(r, c);
            if (kind == Sums::kF32) {
              ASSERT_EQ(y[i], (static_cast<float>(exact) + bias[c]) + residual[i]);
            }
            const double want = exact + bias[c] + residual[i];
            ASSERT_NEAR(y[i], want,
                        0x1p-24 * (4 * std::abs(exact) + std::abs(bias[c]) + std::abs(want)));
            ASSERT_EQ(in_place[i], y[i]);
          }
          for (size_t i = 3 * stride; i < y.size(); ++i) ASSERT_EQ(y[i], kUntouched);
        }
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
