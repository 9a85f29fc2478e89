#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace longformer {
namespace {

TEST(Random, BitsDifferBySeedAndIndex) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (uint64_t index = 0; index < 50; ++index) seen.insert(random_bits(seed, index));
  }
  EXPECT_EQ(seen.size(), 2500u);
  EXPECT_EQ(random_bits(3, 4), random_bits(3, 4));
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, last = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random_normal(7, static_cast<uint64_t>(i));
    ASSERT_TRUE(std::isfinite(x));
    sum += x, squares += x * x, fourth += x * x * x * x, neighbours += x * last;
    last = x;
  }
  // Five standard errors.
  EXPECT_NEAR(sum / kCount, 0.0, 0.012);
  EXPECT_NEAR(squares / kCount, 1.0, 0.016);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.12);
  EXPECT_NEAR(neighbours / kCount, 0.0, 0.012);
}

}  // namespace
}  // namespace longformer
