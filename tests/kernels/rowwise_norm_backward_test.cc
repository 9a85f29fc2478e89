// LayerNorm backwards and sums of rows against double precision, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kGuard = -9876.5f;
constexpr int64_t kColumns[] = {1, 3, 17, 64, 100, 384, 768};
using Doubles = std::vector<double>;

Doubles exact_norm(const Doubles& x, const Values& gamma, double eps) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) variance += (v - mean) * (v - mean) / n;
  Doubles y;
  for (size_t c = 0; c < x.size(); ++c) {
    y.push_back((x[c] - mean) / std::sqrt(variance + eps) * gamma[c]);
  }
  return y;
}

struct Exact {
  Doubles d_x, unit;
};

// The formula of the header in double precision on one row.
Exact exact_backward(const float* x, int64_t cols, const Values& gamma, double eps,
                     const float* d_y) {
  const auto n = static_cast<double>(cols);
  double mean = 0, variance = 0, mean_g = 0, mean_product = 0;
  for (int64_t c = 0; c < cols; ++c) mean += x[c] / n;
  for (int64_t c = 0; c < cols; ++c) variance += (x[c] - mean) * (x[c] - mean) / n;
  const double scale = 1 / std::sqrt(variance + eps);
  Exact result;
  for (int64_t c = 0; c < cols; ++c) {
    const double g = double{d_y[c]} * gamma[c];
    result.unit.push_back((x[c] - mean) * scale);
    mean_g += g / n;
    mean_product += g * result.unit.back() / n;
  }
  for (int64_t c = 0; c < cols; ++c) {
    const double g = double{d_y[c]} * gamma[c];
    result.d_x.push_back((g - mean_g - result.unit[c] * mean_product) * scale);
  }
  return result;
}

TEST(RowwiseNormBackward, TheFormulaIsTheDerivative) {
  const int64_t cols = 9;
  const Values x = random_values(cols, 1, 2.0f), gamma = random_values(cols, 2);
  const Values d_y = random_values(cols, 3);
  const Exact want = exact_backward(x.data(), cols, gamma, 1e-5, d_y.data());
  const auto loss = [&](int64_t at, double step) {
    Doubles moved(x.begin(), x.end());
    moved[at] += step;
    const Doubles y = exact_norm(moved, gamma, 1e-5);
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += y[c] * d_y[c];
    return sum;
  };
  for (int64_t c = 0; c < cols; ++c) {
    EXPECT_NEAR(want.d_x[c], (loss(c, 1e-5) - loss(c, -1e-5)) / 2e-5, 1e-8);
  }
}

TEST(RowwiseNormBackward, EqualsDoublePrecision) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      for (const float shift : {0.0f, 50.0f}) {
        const int64_t rows = 5;
        const Values x = random_values(rows * cols, 4, 2.0f, shift), gamma = random_values(cols, 5);
        const Values d_y = random_values(rows * cols, 6);
        Values d_x(rows * cols + 40, kGuard), d_gamma = random_values(cols, 7);
        Values d_beta = random_values(cols, 8);
        Doubles want_gamma(d_gamma.begin(), d_gamma.end());
        Doubles want_beta(d_beta.begin(), d_beta.end());
        d_gamma.resize(cols + 40, kGuard);
        d_beta.resize(cols + 40, kGuard);
        layer_norm_backward(rows, cols, x.data(), gamma.data(), 1e-5f, d_y.data(), d_x.data(),
                            d_gamma.data(), d_beta.data());
        const double tolerance = shift == 0.0f ? 3e-6 : 4e-5;
        for (int64_t r = 0; r < rows; ++r) {
          const Exact want = exact_backward(&x[r * cols], cols, gamma, 1e-5, &d_y[r * cols]);
          for (int64_t c = 0; c < cols; ++c) {
            want_gamma[c] += d_y[r * cols + c] * want.unit[c];
            want_beta[c] += d_y[r * cols + c];
            // With one column, g - mean(g) is 0 and what is divided by sqrt(eps) is its rounding.
            if (cols == 1) {
              ASSERT_NEAR(d_x[r], 0.0f, 3e-5);
            } else {
              ASSERT_NEAR(d_x[r * cols + c], want.d_x[c], tolerance * (1 + std::abs(want.d_x[c])));
            }
          }
        }
        for (int64_t c = 0; c < cols; ++c) {
          ASSERT_NEAR(d_gamma[c], want_gamma[c], 2 * tolerance * (1 + std::abs(want_gamma[c])));
          ASSERT_NEAR(d_beta[c], want_beta[c], 2e-6);
        }
        for (size_t i = 0; i < 40; ++i) {
          ASSERT_EQ(d_x[rows * cols + i], kGuard);
          ASSERT_EQ(d_gamma[cols + i], kGuard);
          ASSERT_EQ(d_beta[cols + i], kGuard);
        }
        Values in_place = d_y;
        layer_norm_backward(rows, cols, x.data(), gamma.data(), 1e-5f, in_place.data(),
                            in_place.data(), nullptr, nullptr);
        ASSERT_TRUE(same_bits(in_place.data(), d_x.data(), rows * cols));
      }
    }
  });
}

TEST(RowwiseNormBackward, RowsDoNotDependOnEachOther) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {3, 17, 384}) {
      const int64_t rows = 7;
      Values x = random_values(rows * cols, 9), d_x(x.size()), alone(cols + 1);
      const Values gamma = random_values(cols, 10), d_y = random_values(rows * cols, 11);
      x[4 * cols] = std::numeric_limits<float>::quiet_NaN();
      Values gammas = random_values(cols, 12), betas = gammas, gammas_alone = gammas,
             betas_alone = gammas;
      layer_norm_backward(rows, cols, x.data(), gamma.data(), 1e-5f, d_y.data(), d_x.data(),
                          gammas.data(), betas.data());
      for (int64_t r = 0; r < rows; ++r) {
        layer_norm_backward(1, cols, &x[r * cols], gamma.data(), 1e-5f, &d_y[r * cols], &alone[1],
                            gammas_alone.data(), betas_alone.data());
        ASSERT_TRUE(same_bits(&alone[1], &d_x[r * cols], cols)) << r;
      }
      // Row by row is the order of the sums.
      EXPECT_TRUE(same_bits(gammas.data(), gammas_alone.data(), cols));
      EXPECT_TRUE(same_bits(betas.data(), betas_alone.data(), cols));
    }
  });
}

TEST(RowwiseColumnSums, RowByRow) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {1, 3, 16, 17, 100, 384}) {
      for (const int64_t rows : {0, 1, 3, 4, 5, 9, 64}) {
        const Values x = random_values(rows * cols, 13);
        std::vector<BFloat16> small;
        for (const float value : x) small.push_back(BFloat16{f32_to_bf16(value)});
        for (const DType type : {DType::kF32, DType::kBF16}) {
          Values sums = random_values(cols, 14), want = sums;
          sums.resize(cols + 40, kGuard);
          const void* data = type == DType::kF32 ? static_cast<const void*>(x.data())
                                                 : static_cast<const void*>(small.data());
          add_column_sums(rows, cols, Rows{type, data, nullptr, nullptr}, sums.data());
          for (int64_t i = 0; i < rows * cols; ++i) {
            want[i % cols] += type == DType::kF32 ? x[i] : bf16_to_f32(small[i].bits);
          }
          ASSERT_TRUE(same_bits(sums.data(), want.data(), cols)) << rows << " x " << cols;
          for (size_t i = cols; i < sums.size(); ++i) ASSERT_EQ(sums[i], kGuard);
        }
      }
    }
  });
}

TEST(RowwiseAdd, EachElement) {
  for_each_target([](const std::string&) {
    for (const int64_t count : {0, 1, 7, 16, 33, 1000}) {
      const Values x = random_values(count, 15);
      Values y = random_values(count, 16), want = y;
      y.resize(count + 40, kGuard);
      add(count, x.data(), y.data());
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(y[i], want[i] + x[i]);
      for (size_t i = count; i < y.size(); ++i) ASSERT_EQ(y[i], kGuard);
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
