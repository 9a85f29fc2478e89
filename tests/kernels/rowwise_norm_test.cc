// LayerNorm kernels against double precision, on every SIMD target.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kGuard = -9876.5f;
constexpr size_t kGuards = 48;
constexpr int64_t kColumns[] = {1, 3, 17, 64, 100, 384, 768, 3072};

Values guarded(Values values) {
  values.resize(values.size() + kGuards, kGuard);
  return values;
}

void expect_guards(const Values& values) {
  for (size_t i = values.size() - kGuards; i < values.size(); ++i) {
    ASSERT_EQ(values[i], kGuard) << "wrote past the end";
  }
}

// The formula of rowwise_norm.cc in double precision on one row.
std::vector<double> exact_norm(const std::vector<double>& t, const Values& gamma,
                               const Values& beta, double eps) {
  double mean = 0, variance = 0;
  for (const double v : t) mean += v / static_cast<double>(t.size());
  for (const double v : t) variance += (v - mean) * (v - mean) / static_cast<double>(t.size());
  std::vector<double> y;
  for (size_t c = 0; c < t.size(); ++c) {
    y.push_back((t[c] - mean) / std::sqrt(variance + eps) * gamma[c] + beta[c]);
  }
  return y;
}

void expect_row(const float* got, const std::vector<double>& want, double tolerance) {
  for (size_t c = 0; c < want.size(); ++c) {
    ASSERT_NEAR(got[c], want[c], tolerance * (1.0 + std::abs(want[c]))) << "column " << c;
  }
}

TEST(RowwiseNorm, LayerNormEqualsDoublePrecision) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      for (const float shift : {0.0f, 50.0f}) {
        const int64_t rows = 5;
        const Values x = random_values(rows * cols, 1, 2.0f, shift);
        const Values gamma = random_values(cols, 2), beta = random_values(cols, 3);
        Values y = guarded(Values(x.size()));
        layer_norm(rows, cols, x.data(), gamma.data(), beta.data(), 1e-5f, y.data());
        expect_guards(y);
        for (int64_t r = 0; r < rows; ++r) {
          const std::vector<double> t(x.begin() + r * cols, x.begin() + (r + 1) * cols);
          // One ulp of the input, seen through the scale of the row, is what f32 can give.
          const double tolerance = shift == 0.0f ? 3e-6 : 2e-5;
          expect_row(y.data() + r * cols, exact_norm(t, gamma, beta, 1e-5), tolerance);
        }
        Values in_place = x;
        layer_norm(rows, cols, in_place.data(), gamma.data(), beta.data(), 1e-5f, in_place.data());
        EXPECT_EQ(std::memcmp(in_place.data(), y.data(), in_place.size() * sizeof(float)), 0);
      }
    }
  });
}

TEST(RowwiseNorm, ConstantRowsGiveBeta) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      for (const float value : {0.1f, -123.456f, 3e-5f, 0.0f, 1e6f}) {
        const Values x(cols, value), gamma = random_values(cols, 4), beta = random_values(cols, 5);
        Values y(cols);
        layer_norm(1, cols, x.data(), gamma.data(), beta.data(), 1e-12f, y.data());
        for (int64_t c = 0; c < cols; ++c) ASSERT_EQ(y[c], beta[c]) << value << ", " << cols;
      }
    }
  });
}

TEST(RowwiseNorm, BiasAndResidualAreAddedFirst) {
  for_each_target([](const std::string&) {
    for (const Sums kind : kSums) {
      for (const int64_t cols : kColumns) {
        const int64_t rows = 4;
        const TestProduct x(kind, rows, cols, 3, 6);
        const Values residual = random_values(rows * cols, 7), bias = random_values(cols, 8);
        const Values gamma = random_values(cols, 9), beta = random_values(cols, 10);
        Values y = guarded(Values(rows * cols)), two_steps(rows * cols);
        bias_residual_layer_norm(rows, cols, x.products(), bias.data(), residual.data(),
                                 gamma.data(), beta.data(), 1e-5f, y.data());
        expect_guards(y);
        for (int64_t r = 0; r < rows; ++r) {
          std::vector<double> t;
          for (int64_t c = 0; c < cols; ++c) {
            t.push_back(x.value(r, c) + bias[c] + residual[r * cols + c]);
          }
          expect_row(y.data() + r * cols, exact_norm(t, gamma, beta, 1e-5), 1e-5);
        }
        bias_residual(rows, cols, x.products(), bias.data(), residual.data(), cols,
                      two_steps.data());
        layer_norm(rows, cols, two_steps.data(), gamma.data(), beta.data(), 1e-5f,
                   two_steps.data());
        EXPECT_TRUE(same_bits(two_steps.data(), y.data(), rows * cols));
        Values over_residual = residual;
        bias_residual_layer_norm(rows, cols, x.products(), bias.data(), over_residual.data(),
                                 gamma.data(), beta.data(), 1e-5f, over_residual.data());
        EXPECT_TRUE(same_bits(over_residual.data(), y.data(), rows * cols));
        // Over dense sums.
        TestProduct sums = x;
        Products dense = sums.products();
        dense.stride = cols;
        for (int64_t r = 0; r < rows; ++r) {
          std::memmove(sums.memory() + r * cols, sums.memory() + r * x.stride,
                       static_cast<size_t>(cols) * sizeof(float));
        }
        bias_residual_layer_norm(rows, cols, dense, bias.data(), residual.data(), gamma.data(),
                                 beta.data(), 1e-5f, sums.memory());
        EXPECT_TRUE(same_bits(sums.memory(), y.data(), rows * cols));
      }
    }
  });
}

TEST(RowwiseNorm, EmbeddingRowsAreSummedFirst) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : kColumns) {
      const Values word = random_values(cols, 11), position = random_values(cols, 12);
      const Values type = random_values(cols, 13), gamma = random_values(cols, 14);
      const Values beta = random_values(cols, 15);
      Values y = guarded(Values(cols));
      embedding_layer_norm(cols, word.data(), position.data(), type.data(), gamma.data(),
                           beta.data(), 1e-12f, y.data());
      expect_guards(y);
      std::vector<double> t;
      for (int64_t c = 0; c < cols; ++c) t.push_back(double{word[c]} + position[c] + type[c]);
      if (cols == 1) {
        EXPECT_EQ(y[0], beta[0]);
        continue;
      }
      expect_row(y.data(), exact_norm(t, gamma, beta, 1e-12), 1e-5);
    }
  });
}

TEST(RowwiseNorm, RowsDoNotDependOnEachOther) {
  for_each_target([](const std::string&) {
    for (const int64_t cols : {3, 17, 384}) {
      const int64_t rows = 9;
      Values x = random_values(rows * cols, 16);
      const Values gamma = random_values(cols, 17), beta = random_values(cols, 18);
      x[4 * cols] = std::numeric_limits<float>::quiet_NaN();
      x[6 * cols] = std::numeric_limits<float>::infinity();
      Values y(x.size()), alone(cols + 1);
      layer_norm(rows, cols, x.data(), gamma.data(), beta.data(), 1e-5f, y.data());
      for (int64_t r = 0; r < rows; ++r) {
        // Written one float further on, so that alignment differs too.
        layer_norm(1, cols, x.data() + r * cols, gamma.data(), beta.data(), 1e-5f,
                   alone.data() + 1);
        for (int64_t c = 0; c < cols; ++c) {
          if (r == 4 || r == 6) {
            EXPECT_TRUE(std::isnan(y[r * cols + c]));
          } else {
            ASSERT_EQ(std::bit_cast<uint32_t>(y[r * cols + c]),
                      std::bit_cast<uint32_t>(alone[c + 1]));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
