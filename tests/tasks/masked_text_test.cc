// RoBERTa's masking: shares, what is left alone, what it depends on.
#include "tasks/masked_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace longformer::tasks {
namespace {

text::Encoding tokens_of(size_t count) {
  text::Encoding tokens;
  tokens.ids.assign(count, 7);
  tokens.type_ids.assign(count, 0);
  tokens.sequence.assign(count, 0);
  tokens.sequence.front() = tokens.sequence.back() = -1;
  return tokens;
}

TEST(MaskedText, SharesAreThoseOfTheRecipe) {
  const size_t count = 200'002;
  const MaskSettings settings{.mask_id = 4, .vocabulary = 1000, .share = 0.15, .seed = 3};
  const MaskedSequence masked = mask_tokens(tokens_of(count), 0, settings);
  double chosen = 0, hidden = 0, random = 0;
  for (size_t t = 0; t < count; ++t) {
    const int64_t id = masked.sequence.tokens.ids[t];
    if (masked.sequence.wanted[t] == 0) {
      EXPECT_EQ(id, 7);
      continue;
    }
    ++chosen;
    hidden += id == 4 ? 1 : 0;
    random += id != 4 && id != 7 ? 1 : 0;
    ASSERT_GE(id, 0);
    ASSERT_LT(id, 1000);
  }
  ASSERT_EQ(static_cast<double>(masked.targets.size()), chosen);
  EXPECT_EQ(masked.sequence.wanted.front(), 0);
  EXPECT_EQ(masked.sequence.wanted.back(), 0);
  // Five standard deviations.
  const auto near = [](double got, double total, double share) {
    return std::abs(got - total * share) < 5 * std::sqrt(total * share * (1 - share)) + 1;
  };
  EXPECT_TRUE(near(chosen, count - 2, 0.15)) << chosen;
  EXPECT_TRUE(near(hidden, chosen, 0.8 + 0.1 / 1000)) << hidden;
  EXPECT_TRUE(near(random, chosen, 0.1 * 998 / 1000)) << random;
}

TEST(MaskedText, DependsOnSeedAndNumberAlone) {
  MaskSettings settings{.mask_id = 4, .vocabulary = 1000};
  const auto ids = [&](uint64_t number, size_t count) {
    return mask_tokens(tokens_of(count), number, settings).sequence.tokens.ids;
  };
  const std::vector<int64_t> first = ids(0, 500);
  EXPECT_EQ(first, ids(0, 500));
  EXPECT_NE(first, ids(1, 500));
  const std::vector<int64_t> longer = ids(0, 600);
  EXPECT_TRUE(std::equal(first.begin(), first.end() - 1, longer.begin()));
  settings.seed = 1;
  EXPECT_NE(first, ids(0, 500));
}

}  // namespace
}  // namespace longformer::tasks
