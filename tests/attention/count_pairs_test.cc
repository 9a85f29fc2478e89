#include "attention/count_pairs.h"

#include <gtest/gtest.h>

#include "attention/patterns.h"
#include "longformer/error.h"

namespace longformer {
namespace {

using testing::Random;

int64_t one_by_one(const AttentionPattern& pattern, int64_t sequence, int64_t head) {
  const int64_t length = pattern.lengths[static_cast<size_t>(sequence)];
  int64_t pairs = 0;
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t j = 0; j < length; ++j) pairs += count(pattern, sequence, head, i, j);
  }
  return pairs;
}

TEST(CountPairs, EqualsTheSumOfTheDefinitionOnRandomPatterns) {
  for (int64_t seed = 1; seed <= testing::test_cases(60); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const AttentionPattern pattern = testing::random_pattern(random);
    validate(pattern);
    for (size_t s = 0; s < pattern.lengths.size(); ++s) {
      for (int64_t h = 0; h < pattern.heads; ++h) {
        ASSERT_EQ(count_pairs(pattern, static_cast<int64_t>(s), h),
                  one_by_one(pattern, static_cast<int64_t>(s), h))
            << testing::repro(static_cast<uint64_t>(seed), pattern) << ", sequence " << s
            << ", head " << h;
      }
    }
  }
}

AttentionPattern band(int64_t length, int64_t reach) {
  AttentionPattern pattern;
  pattern.lengths = {length};
  pattern.window = Window{reach, reach};
  return pattern;
}

// Numbers worked out by hand from n (2c + 1) - c (c + 1).
TEST(CountPairs, PublishedBands) {
  EXPECT_EQ(count_pairs(band(512, 256), 0, 0), 196'864);
  EXPECT_EQ(count_pairs(band(1024, 256), 0, 0), 459'520);
  EXPECT_EQ(count_pairs(band(4096, 256), 0, 0), 2'035'456);
  EXPECT_EQ(count_pairs(band(1'048'576, 256), 0, 0), 537'853'696);
  EXPECT_EQ(count_pairs(band(100, 256), 0, 0), 10'000);
  EXPECT_EQ(count_pairs(band(0, 256), 0, 0), 0);
}

TEST(CountPairs, AMillionTokensThatAttendToEverything) {
  AttentionPattern pattern;
  pattern.lengths = {1'048'576};
  EXPECT_EQ(count_pairs(pattern, 0, 0), int64_t{1} << 40);
}

TEST(CountPairs, RefusesWhatItDoesNotCount) {
  AttentionPattern pattern = band(8, 1);
  pattern.memory.length = 4;
  EXPECT_THROW(count_pairs(pattern, 0, 0), Error);
}

}  // namespace
}  // namespace longformer
