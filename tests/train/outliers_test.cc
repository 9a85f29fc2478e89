#include "train/outliers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace longformer::train {
namespace {

TEST(Outliers, NoneBeforeTheWindowIsFull) {
  std::vector<double> window;
  for (size_t i = 0; i < kOutlierWindow; ++i)
    EXPECT_EQ(add_and_score(window, i == 50 ? 1e9 : 1), 0);
  EXPECT_EQ(window.size(), kOutlierWindow);
}

TEST(Outliers, ScoreIsInDeviationsOfTheWindow) {
  std::vector<double> window;
  for (size_t i = 0; i < 4 * kOutlierWindow; ++i) {
    EXPECT_LT(std::abs(add_and_score(window, 5 + 0.1 * random_normal(1, i))), 5);
  }
  const std::vector<double> before = window;
  const double score = add_and_score(window, 7);
  EXPECT_GT(score, 8);
  EXPECT_LT(add_and_score(window, 3), -4);
  // By hand.
  double mean = 0, square = 0;
  std::vector<double> now(before.begin() + 1, before.end());
  now.push_back(7);
  for (const double x : now) mean += x / 128;
  for (const double x : now) square += (x - mean) * (x - mean) / 128;
  EXPECT_NEAR(score, (7 - mean) / std::sqrt(square), 1e-9);
}

TEST(Outliers, EqualValuesHaveNone) {
  std::vector<double> window;
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(add_and_score(window, 0.25), 0);
}

}  // namespace
}  // namespace longformer::train
