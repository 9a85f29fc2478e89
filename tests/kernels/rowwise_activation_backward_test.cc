// Activations backwards: values with the bits of the way forward, derivatives against long double
// formulas and central differences, every type of rows, aliasing, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr int64_t kColumns[] = {1, 3, 16, 17, 33, 96, 100};
constexpr int64_t kRows = 5;
constexpr DType kTypes[] = {DType::kF32, DType::kBF16};
constexpr Activation kActivations[] = {Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kRelu, Activation::kSilu,
                                       Activation::kTanh, Activation::kQuickGelu};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

// As torch and the literature define them, not as the kernels compute them.
double exact(Activation activation, double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(u));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kQuickGelu:
      return x * sigmoid(1.702 * x);
  }
  return 0;
}

double exact_slope(Activation activation, double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  const double s = sigmoid(x), quick = sigmoid(1.702 * x);
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Activation::kGeluTanh:
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
    case Activation::kRelu:
      return x > 0 ? 1 : 0;
    case Activation::kSilu:
      return s * (1 + x * (1 - s));
    case Activation::kTanh:
      return 1 / (std::cosh(x) * std::cosh(x));
    case Activation::kQuickGelu:
      return quick * (1 + 1.702 * x * (1 - quick));
  }
  return 0;
}

struct Result {
  Values y, d_a;
};

// One row, bias 0.
Result backward(Activation activation, const Values& x, const Values& d_y) {
  const auto n = static_cast<int64_t>(x.size());
  const Values bias(x.size());
  Result result{Values(x.size()), Values(x.size())};
  activation_backward(1, n, activation, x.data(), bias.data(), d_y.data(),
                      {.data = result.y.data(), .stride = n},
                      {.data = result.d_a.data(), .stride = n});
  return result;
}

TEST(RowwiseActivationBackward, TheFormulasAreDerivatives) {
  for (const Activation activation : kActivations) {
    for (double x = -7.03; x < 7; x += 0.1) {
      const double h = 1e-5;
      const double difference = (exact(activation, x + h) - exact(activation, x - h)) / (2 * h);
      ASSERT_NEAR(exact_slope(activation, x), difference, 1e-9)
          << static_cast<int>(activation) << " at " << x;
    }
  }
}

TEST(RowwiseActivationBackward, DerivativesAreExact) {
  Values x;
  for (int i = -30000; i <= 30000; ++i) x.push_back(static_cast<float>(i) * 0.001f);
  for (const float far : {50.0f, 88.0f, 89.5f, 104.0f, 1e4f, 1e20f, 3e38f}) {
    x.push_back(far);
    x.push_back(-far);
  }
  const Values ones(x.size(), 1.0f);
  for_each_target([&](const std::string&) {
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(static_cast<int>(activation));
      const Result got = backward(activation, x, ones);
      for (size_t i = 0; i < x.size(); ++i) {
        const double at = std::clamp(double{x[i]}, -1e4, 1e4);  // the formulas have infinities too
        ASSERT_NEAR(got.d_a[i], exact_slope(activation, at), 6e-7) << x[i];
      }
    }
  });
}

TEST(RowwiseActivationBackward, InfinitiesGiveTheLimitAndNanStays) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&](const std::string&) {
    for (const Activation activation : kActivations) {
      const Result got = backward(activation, {infinity, -infinity, nan}, {1.0f, 1.0f, 1.0f});
      const float limit = activation == Activation::kTanh ? 0.0f : 1.0f;
      EXPECT_NEAR(got.d_a[0], limit, 1e-7) << static_cast<int>(activation);
      EXPECT_NEAR(got.d_a[1], 0.0f, 1e-7) << static_cast<int>(activation);
      EXPECT_TRUE(std::isnan(got.y[2])) << static_cast<int>(activation);
    }
  });
}

// In every type of rows, y is what bias_activation() gives, bit for bit, and d_a the rounded float.
TEST(RowwiseActivationBackward, RowsOfEveryType) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      for (const int64_t cols : kColumns) {
        const Values x = random_values(kRows * cols, 1, 2.0f), bias = random_values(cols, 2);
        const Values d_y = random_values(kRows * cols, 3);
        TestRows slopes(DType::kF32, kRows, cols);
        for (const DType type : kTypes) {
          for (const DType d_type : kTypes) {
            TestRows want(type, kRows, cols), y(type, kRows, cols), d_a(d_type, kRows, cols);
            bias_activation(kRows, cols, activation, dense_product(x.data(), cols), bias.data(),
                            want.buffer());
            activation_backward(kRows, cols, activation, x.data(), bias.data(), d_y.data(),
                                y.buffer(), d_a.buffer());
            ASSERT_TRUE(y.guards_stand() && d_a.guards_stand());
            ASSERT_TRUE(same_bits(y.f32.data(), want.f32.data(), y.f32.size()));
            ASSERT_TRUE(same_bits(y.bf16.data(), want.bf16.data(), y.bf16.size()));
            if (type == DType::kF32 && d_type == DType::kF32) slopes = d_a;
            for (int64_t r = 0; r < kRows; ++r) {
              for (int64_t c = 0; c < cols; ++c) {
                const float value = slopes.f32[r * slopes.stride + c];
                const float rounded =
                    d_type == DType::kF32 ? value : bf16_to_f32(f32_to_bf16(value));
                ASSERT_EQ(d_a.value(r, c), rounded);
                const double a = x[r * cols + c] + bias[c];
                ASSERT_NEAR(value, d_y[r * cols + c] * exact_slope(activation, a), 4e-6);
              }
            }
          }
        }
      }
    }
  });
}

TEST(RowwiseActivationBackward, FloatsMayReplaceTheirInputs) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      for (const int64_t cols : kColumns) {
        const Values x = random_values(kRows * cols, 4), bias = random_values(cols, 5);
        const Values d_y = random_values(kRows * cols, 6);
        TestRows y(DType::kF32, kRows, cols, 0), d_a(DType::kF32, kRows, cols, 0);
        activation_backward(kRows, cols, activation, x.data(), bias.data(), d_y.data(), y.buffer(),
                            d_a.buffer());
        Values over_x = x, over_d_y = d_y;
        activation_backward(kRows, cols, activation, over_x.data(), bias.data(), over_d_y.data(),
                            {.data = over_x.data(), .stride = cols},
                            {.data = over_d_y.data(), .stride = cols});
        ASSERT_TRUE(same_bits(over_x.data(), y.f32.data(), kRows * cols));
        ASSERT_TRUE(same_bits(over_d_y.data(), d_a.f32.data(), kRows * cols));
      }
    }
  });
}

TEST(RowwiseActivationBackward, RowsDoNotDependOnEachOther) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      const int64_t cols = 37;
      Values x = random_values(kRows * cols, 7);
      const Values bias = random_values(cols, 8), d_y = random_values(kRows * cols, 9);
      x[2 * cols + 5] = std::numeric_limits<float>::quiet_NaN();
      Values y(x.size()), d_a(x.size()), alone_y(cols + 1), alone_d(cols + 1);
      activation_backward(kRows, cols, activation, x.data(), bias.data(), d_y.data(),
                          {.data = y.data(), .stride = cols}, {.data = d_a.data(), .stride = cols});
      for (int64_t r = 0; r < kRows; ++r) {
        activation_backward(1, cols, activation, &x[r * cols], bias.data(), &d_y[r * cols],
                            {.data = &alone_y[1], .stride = cols},
                            {.data = &alone_d[1], .stride = cols});
        ASSERT_TRUE(same_bits(&alone_y[1], &y[r * cols], cols));
        ASSERT_TRUE(same_bits(&alone_d[1], &d_a[r * cols], cols));
      }
    }
  });
}

// The halves of one product: y as gated_activation() gives it, d_a and d_g by the product rule.
TEST(RowwiseActivationBackward, GatesAreHalvesOfOneProduct) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      for (const int64_t cols : kColumns) {
        const Values both = random_values(2 * kRows * cols, 10), bias = random_values(2 * cols, 11);
        const Values d_y = random_values(kRows * cols, 12);
        for (const DType type : kTypes) {
          TestRows want(type, kRows, cols), y(type, kRows, cols), d_both(type, kRows, 2 * cols);
          const Products x = dense_product(both.data(), 2 * cols);
          gated_activation(kRows, cols, activation, x, bias.data(), x.columns(cols), &bias[cols],
                           want.buffer());
          gated_activation_backward(kRows, cols, activation, both.data(), bias.data(), d_y.data(),
                                    y.buffer(), d_both.buffer());
          ASSERT_TRUE(y.guards_stand() && d_both.guards_stand());
          ASSERT_TRUE(same_bits(y.f32.data(), want.f32.data(), y.f32.size()));
          ASSERT_TRUE(same_bits(y.bf16.data(), want.bf16.data(), y.bf16.size()));
          const double step = type == DType::kBF16 ? 0x1p-8 : 0;
          for (int64_t r = 0; r < kRows; ++r) {
            for (int64_t c = 0; c < cols; ++c) {
              const int64_t at = 2 * r * cols + c;
              const double a = both[at] + bias[c];
              const double g = both[at + cols] + bias[cols + c];
              const double d = d_y[r * cols + c];
              const double want_a = d * g * exact_slope(activation, a);
              const double want_g = d * exact(activation, a);
              ASSERT_NEAR(d_both.value(r, c), want_a, 2e-5 + step * std::abs(want_a));
              ASSERT_NEAR(d_both.value(r, cols + c), want_g, 2e-5 + step * std::abs(want_g));
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
