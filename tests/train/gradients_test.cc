#include "train/gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace longformer::train {
namespace {

ParameterSet random_set() {
  ParameterSet parameters({{"a", {300, 1000}}, {"b", {17}}, {"frozen", {9}}});
  parameters.train("a");
  parameters.train("b");
  for (Parameter& parameter : parameters.all()) {
    for (int64_t i = 0; !parameter.frozen() && i < parameter.elements; ++i) {
      parameter.gradient[i] = static_cast<float>(random_normal(4, static_cast<uint64_t>(i)));
    }
  }
  return parameters;
}

TEST(Gradients, NormIsTheRootOfTheSumOfSquares) {
  const ParameterSet parameters = random_set();
  long double sum = 0;
  for (const Parameter& parameter : parameters.all()) {
    for (int64_t i = 0; !parameter.frozen() && i < parameter.elements; ++i) {
      sum += static_cast<long double>(parameter.gradient[i]) * parameter.gradient[i];
    }
  }
  ThreadPool one(1), two(2), three(3);
  const double norm = gradient_norm(parameters, one);
  EXPECT_NEAR(norm, static_cast<double>(std::sqrt(sum)), 1e-12 * norm);
  EXPECT_EQ(norm, gradient_norm(parameters, two));
  EXPECT_EQ(norm, gradient_norm(parameters, three));
}

TEST(Gradients, LargeOnesDoNotOverflow) {
  ParameterSet parameters({{"a", {2}}});
  parameters.train("a");
  parameters.at("a").gradient[0] = 3e30f;
  parameters.at("a").gradient[1] = 4e30f;
  ThreadPool pool(1);
  EXPECT_NEAR(gradient_norm(parameters, pool), 5e30, 1e24);
}

TEST(Gradients, ClipCoefficientIsPyTorchs) {
  EXPECT_EQ(clip_coefficient(0.5, 1), 1);
  EXPECT_EQ(clip_coefficient(4, 1), 1 / (4 + 1e-6));
  EXPECT_EQ(clip_coefficient(1, 1), 1 / (1 + 1e-6));
  EXPECT_EQ(clip_coefficient(4, 0), 1);
}

TEST(Gradients, NamesTheFirstThatIsNotFinite) {
  ParameterSet parameters = random_set();
  EXPECT_EQ(first_not_finite(parameters), "");
  parameters.at("b").gradient[16] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(first_not_finite(parameters), "b at 16");
  parameters.at("a").gradient[299'999] = std::nanf("");
  EXPECT_EQ(first_not_finite(parameters), "a at 299999");
  ThreadPool pool(2);
  EXPECT_FALSE(std::isfinite(gradient_norm(parameters, pool)));
}

}  // namespace
}  // namespace longformer::train
