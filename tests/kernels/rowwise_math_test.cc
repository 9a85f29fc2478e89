// exp, tanh and the activations against double precision: a sample of all floats here, all of
// them with LONGFORMER_SLOW_TESTS=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Function = void (*)(int64_t, const float*, float*) noexcept;

// Calls check(x, f(x)) for all finite floats with low <= x <= high whose bits are a multiple of the
// stride.
template <typename Check>
void sweep(Function function, float low, float high, Check&& check) {
  const uint64_t stride = slow_tests() ? 1 : 8191;
  std::vector<float> x, y;
  const auto flush = [&] {
    y.resize(x.size());
    function(static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t i = 0; i < x.size(); ++i) check(x[i], y[i]);
    x.clear();
  };
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += stride) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(value >= low && value <= high)) continue;
    x.push_back(value);
    if (x.size() == 4099) flush();
  }
  flush();
}

double ulps(float got, double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::abs(got - want) / ulp;
}

TEST(RowwiseMath, ExpIsWithinTwoUlp) {
  for_each_target([](const std::string& target) {
    double worst = 0;
    sweep(exp_values, -103.97f, 88.72f,
          [&](float x, float y) { worst = std::max(worst, ulps(y, std::exp(double{x}))); });
    EXPECT_LT(worst, 2.0);
    ::testing::Test::RecordProperty("exp_ulp_" + target, std::to_string(worst));
  });
}

TEST(RowwiseMath, ExpOfSpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {-kInfinity, kInfinity, nan,   0.0f,  -0.0f,
                                -104.0f,    -1e30f,    89.0f, 1e30f, -nan};
  for_each_target([&](const std::string&) {
    std::vector<float> y(x.size());
    exp_values(static_cast<int64_t>(x.size()), x.data(), y.data());
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], kInfinity);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1.0f);
    EXPECT_EQ(y[4], 1.0f);
    EXPECT_EQ(y[5], 0.0f);
    EXPECT_EQ(y[6], 0.0f);
    EXPECT_EQ(y[7], kInfinity);
    EXPECT_EQ(y[8], kInfinity);
    EXPECT_TRUE(std::isnan(y[9]));
  });
}

TEST(RowwiseMath, TanhIsWithin2em7) {
  for_each_target([](const std::string& target) {
    double worst = 0;
    sweep(tanh_values, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max(),
          [&](float x, float y) { worst = std::max(worst, std::abs(y - std::tanh(double{x}))); });
    EXPECT_LE(worst, 2e-7);
    ::testing::Test::RecordProperty("tanh_error_" + target, std::to_string(worst * 1e9) + "e-9");
  });
}

TEST(RowwiseMath, TanhOfSpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {-kInfinity, kInfinity, nan, 0.0f, 1e-30f};
  for_each_target([&](const std::string&) {
    std::vector<float> y(x.size());
    tanh_values(static_cast<int64_t>(x.size()), x.data(), y.data());
    EXPECT_EQ(y[0], -1.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_EQ(y[4], 1e-30f);
  });
}

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh: {
      const double u = std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
      return x / (1.0 + std::exp(-2.0 * u));
    }
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kQuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
  }
  return 0;
}

// In place.
void activate(int64_t rows, int64_t cols, Activation activation, const Values& bias, Values& x) {
  bias_activation(rows, cols, activation, dense_product(x.data(), cols), bias.data(),
                  {.data = x.data(), .stride = cols});
}

constexpr Activation kActivations[] = {Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kRelu, Activation::kSilu,
                                       Activation::kTanh, Activation::kQuickGelu};

// The limits that rowwise_activation.cc states.
TEST(RowwiseMath, ActivationsAreWithinTheirStatedErrors) {
  for_each_target([](const std::string& target) {
    for (const Activation activation : kActivations) {
      const int steps = slow_tests() ? 4'000'000 : 100'000;
      std::vector<float> x;
      for (int i = 0; i <= steps; ++i) {
        x.push_back(-20.0f + 40.0f * static_cast<float>(i) / static_cast<float>(steps));
      }
      std::vector<float> y = x;
      const std::vector<float> zeros(x.size());
      activate(1, static_cast<int64_t>(x.size()), activation, zeros, y);
      double near = 0, far = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = std::abs(y[i] - exact(activation, x[i]));
        if (std::abs(x[i]) <= 8) near = std::max(near, error);
        far = std::max(far, error / std::abs(x[i]));
      }
      const double limit = activation == Activation::kGelu   ? 3e-7
                           : activation == Activation::kTanh ? 1e-7
                                                             : 8e-7;
      EXPECT_LE(near, limit) << static_cast<int>(activation);
      EXPECT_LE(far, 2e-7) << static_cast<int>(activation);
      ::testing::Test::RecordProperty(
          "activation_" + std::to_string(static_cast<int>(activation)) + "_" + target,
          std::to_string(near * 1e9) + "e-9");
    }
  });
}

void gelu_values(int64_t n, const float* x, float* y) noexcept {
  Values values(x, x + n);
  activate(1, n, Activation::kGelu, Values(values.size()), values);
  std::copy(values.begin(), values.end(), y);
}

TEST(RowwiseMath, GeluIsWithinItsStatedErrorsEverywhere) {
  for_each_target([](const std::string& target) {
    double positive = 0, negative = 0, relative = 0;
    const float largest = std::numeric_limits<float>::max();
    sweep(gelu_values, -largest, largest, [&](float x, float y) {
      const double error = std::abs(y - exact(Activation::kGelu, x));
      double& worst = x < 0 ? negative : positive;
      if (std::abs(x) <= 8) worst = std::max(worst, error);
      // Half of the smallest denormal number is no more than rounding.
      if (std::abs(x) >= std::numeric_limits<float>::min()) {
        relative = std::max(relative, error / std::abs(x));
      }
    });
    EXPECT_LE(positive, 3e-7);
    // Targets without fused multiply-add round the products of the polynomials too.
    const bool fused = target.starts_with("AVX");
    EXPECT_LE(negative, fused ? 7e-8 : 8e-8);
    EXPECT_LE(relative, 1.6e-7);
    ::testing::Test::RecordProperty("gelu_" + target, std::to_string(positive * 1e9) + "e-9, " +
                                                          std::to_string(negative * 1e9) + "e-9, " +
                                                          std::to_string(relative * 1e9) + "e-9");
  });
}

TEST(RowwiseMath, GeluOfSpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // With low bits set: they must not move the exponent of the result.
  const std::vector<float> x = {kInfinity,
                                -kInfinity,
                                1e30f,
                                -1e30f,
                                0.0f,
                                nan,
                                -nan,
                                std::bit_cast<float>(0x7FC000FFu),
                                std::bit_cast<float>(0xFFFFFFFFu)};
  for_each_target([&](const std::string&) {
    std::vector<float> y(x.size());
    gelu_values(static_cast<int64_t>(x.size()), x.data(), y.data());
    EXPECT_EQ(y[0], kInfinity);
    EXPECT_NEAR(y[1], 0.0f, 2e-18);
    EXPECT_EQ(y[2], 1e30f);
    EXPECT_NEAR(y[3], 0.0f, 2e-18);
    EXPECT_EQ(y[4], 0.0f);
    for (size_t i = 5; i < x.size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  });
}

TEST(RowwiseMath, ActivationsAddTheBiasAndKeepNan) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      for (const int64_t cols : {1, 3, 17, 384}) {
        std::vector<float> bias, x;
        for (int64_t c = 0; c < cols; ++c) bias.push_back(0.01f * static_cast<float>(c) - 1.0f);
        for (int64_t i = 0; i < 3 * cols; ++i) x.push_back(2.0f - 0.003f * static_cast<float>(i));
        x[1 % x.size()] = std::numeric_limits<float>::quiet_NaN();
        x.resize(x.size() + 32, 77.0f);
        std::vector<float> y = x;
        activate(3, cols, activation, bias, y);
        for (int64_t i = 0; i < 3 * cols; ++i) {
          const float sum = x[i] + bias[i % cols];
          if (std::isnan(sum)) {
            EXPECT_TRUE(std::isnan(y[i]));
          } else {
            ASSERT_NEAR(y[i], exact(activation, sum), 8e-7);
          }
        }
        for (size_t i = 3 * cols; i < y.size(); ++i) ASSERT_EQ(y[i], 77.0f) << "wrote past the end";
      }
    }
  });
}

// An element has the same bits in a whole vector and in a tail.
TEST(RowwiseMath, BitsDoNotDependOnTheColumn) {
  for_each_target([](const std::string&) {
    for (const Activation activation : kActivations) {
      const std::vector<float> bias(67, 0.1f);
      for (float value = -9.0f; value < 9.0f; value += 0.37f) {
        std::vector<float> wide(67, value), one(1, value);
        activate(1, 67, activation, bias, wide);
        activate(1, 1, activation, bias, one);
        for (const float element : wide) {
          ASSERT_EQ(std::bit_cast<uint32_t>(element), std::bit_cast<uint32_t>(one[0]));
        }
      }
    }
  });
}

TEST(RowwiseMath, ActivationNames) {
  EXPECT_EQ(activation_from_name("gelu"), Activation::kGelu);
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    EXPECT_EQ(activation_from_name(name), Activation::kGeluTanh);
  }
  EXPECT_EQ(activation_from_name("relu"), Activation::kRelu);
  EXPECT_EQ(activation_from_name("silu"), Activation::kSilu);
  EXPECT_EQ(activation_from_name("swish"), Activation::kSilu);
  EXPECT_EQ(activation_from_name("tanh"), Activation::kTanh);
  EXPECT_EQ(activation_from_name("quick_gelu"), Activation::kQuickGelu);
  EXPECT_FALSE(activation_from_name("GELU").has_value());
  EXPECT_FALSE(activation_from_name("").has_value());
}

TEST(RowwiseMath, UnknownTargetsAreRefused) {
  const std::vector<std::string> before = supported_targets();
  EXPECT_FALSE(limit_target("Unknown"));
  EXPECT_FALSE(limit_target("avx9"));
  EXPECT_EQ(supported_targets(), before);
}

}  // namespace
}  // namespace longformer::kernels
