// Known answers: the reference implementation's plans, drawn by it.
#include "attention/bigbird.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "longformer/error.h"

namespace longformer {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

Lists rows_of(const AttentionPattern& pattern, size_t head, size_t begin, size_t end) {
  const Lists& lists = pattern.blocks->extra[head];
  return {lists.begin() + static_cast<int64_t>(begin), lists.begin() + static_cast<int64_t>(end)};
}

TEST(BigBird, SmallPlanOfTheReference) {
  const AttentionPattern pattern =
      bigbird_pattern({.length = 57, .block_size = 4, .random_blocks = 2, .heads = 2, .seed = 0});
  validate(pattern);
  const Lists expected = {{4, 6}, {5, 4}, {5, 7}, {1, 2}, {3, 7}, {3, 2}, {5, 2},
                          {4, 6}, {5, 4}, {7, 6}, {7, 3}, {5, 7}, {2, 4}};
  EXPECT_EQ(rows_of(pattern, 0, 1, 14), expected);
  EXPECT_TRUE(pattern.blocks->extra[0][0].empty());
  EXPECT_TRUE(pattern.blocks->extra[0][14].empty());
}

TEST(BigBird, FixedAndSegmentedPlansOfTheReference) {
  EXPECT_EQ(rows_of(bigbird_pattern({.length = 1024}), 0, 1, 5),
            (Lists{{9, 14, 7}, {9, 6, 7}, {10, 5, 14}, {6, 8, 12}}));
  EXPECT_EQ(rows_of(bigbird_pattern({.length = 2048}), 0, 1, 5),
            (Lists{{4, 6, 7}, {9, 5, 4}, {6, 7, 9}, {7, 6, 9}}));
}

// The table of key blocks of the model's description, row by row, against count().
TEST(BigBird, CountsWhatTheTableLists) {
  for (const RandomBlocks kind : {RandomBlocks::kDrawn, RandomBlocks::kFirstBlock}) {
    for (const int64_t length : {60, 57}) {
      const int64_t size = 4, blocks = 15;
      const AttentionPattern pattern = bigbird_pattern({.length = length,
                                                        .block_size = size,
                                                        .random_blocks = 2,
                                                        .heads = 2,
                                                        .seed = 5,
                                                        .random = kind});
      for (int64_t i = 0; i < length; ++i) {
        const int64_t row = i / size;
        std::vector<int64_t> listed;
        if (row == 0 || row == blocks - 1) {
          for (int64_t b = 0; b < blocks; ++b) listed.push_back(b);
        } else if (row == 1) {
          listed = {0, 1, 2, blocks - 1};
        } else if (row == blocks - 2) {
          listed = {0, blocks - 3, blocks - 2, blocks - 1};
        } else {
          listed = {0, row - 1, row, row + 1, blocks - 1};
        }
        const std::vector<int32_t>& random = pattern.blocks->extra[1][static_cast<size_t>(row)];
        ASSERT_EQ(random.size(), row > 0 && row < blocks - 1 ? 2u : 0u);
        if (kind == RandomBlocks::kFirstBlock && !random.empty()) {
          ASSERT_EQ(random, (std::vector<int32_t>{0, 0}));
        }
        listed.insert(listed.end(), random.begin(), random.end());
        for (int64_t j = 0; j < length; ++j) {
          ASSERT_EQ(count(pattern, 0, 1, i, j), std::count(listed.begin(), listed.end(), j / size))
              << i << " " << j;
        }
      }
    }
  }
}

TEST(BigBird, ShortTextsAttendToEverything) {
  EXPECT_TRUE(bigbird_attends_fully({.length = 704}));
  EXPECT_FALSE(bigbird_attends_fully({.length = 705}));
  const AttentionPattern pattern = bigbird_pattern({.length = 704});
  EXPECT_FALSE(pattern.blocks);
  EXPECT_EQ(count(pattern, 0, 0, 0, 703), 1);
  EXPECT_EQ(count(pattern, 0, 0, 300, 703), 1);
}

TEST(BigBird, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(bigbird_pattern({.length = 0}), Error);
  EXPECT_THROW(bigbird_pattern({.length = 4096, .block_size = 0}), Error);
  EXPECT_THROW(bigbird_pattern({.length = 4096, .random_blocks = -1}), Error);
  // 4096 tokens in 16 blocks, of which the plan draws from the first 1024 tokens: too few.
  EXPECT_THROW(bigbird_pattern({.length = 4096, .block_size = 256}), Error);
  EXPECT_THROW(bigbird_pattern({.length = 1 << 20, .block_size = 1, .heads = 65536}), Error);
}

}  // namespace
}  // namespace longformer
