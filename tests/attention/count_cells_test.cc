#include "attention/count_cells.h"

#include <gtest/gtest.h>

#include <array>

#include "attention/bigbird.h"
#include "attention/patterns.h"

namespace longformer {
namespace {

using testing::Random;

// What compile() does not know yet: grids and blocks, with masked and global tokens among them.
AttentionPattern random_shape(Random& random) {
  AttentionPattern pattern;
  pattern.heads = random.between(1, 3);
  if (random.chance(50)) {
    Grid grid{random.between(1, 9), random.between(1, 9), random.between(1, 5),
              random.between(1, 5), 0};
    grid.shift = random.between(0, std::min(grid.box_height, grid.box_width) - 1);
    pattern.grid = grid;
    pattern.lengths.assign(static_cast<size_t>(random.between(1, 2)), grid.height * grid.width);
  } else {
    pattern.lengths = {random.between(1, 60)};
    Blocks blocks{.size = random.between(1, 9), .reach = {}, .extra = {}};
    const int64_t count = (pattern.lengths[0] + blocks.size - 1) / blocks.size;
    if (random.chance(30)) {
      pattern.window = Window{random.between(0, 20), random.between(0, 20)};
    } else if (random.chance(70)) {
      blocks.reach = random.between(0, 3);
    }
    for (int64_t h = 0; h < pattern.heads; ++h) {
      blocks.extra.emplace_back(static_cast<size_t>(count));
      for (std::vector<int32_t>& list : blocks.extra.back()) {
        for (int64_t n = random.between(0, 4); n > 0; --n) {
          list.push_back(static_cast<int32_t>(random.between(0, count - 1)));
        }
      }
    }
    if (random.chance(20)) blocks.extra.clear();
    pattern.blocks = blocks;
  }
  for (const int64_t length : pattern.lengths) {
    pattern.global.push_back(testing::random_globals(random, length));
    pattern.valid.push_back(testing::random_valid(random, length));
  }
  if (random.chance(50)) pattern.valid.clear();
  if (random.chance(50)) pattern.global.clear();
  pattern.masked_query = random.chance(50) ? MaskedQuery::kZero : MaskedQuery::kAttend;
  return pattern;
}

void expect_cells_sum_the_definition(const AttentionPattern& pattern, Random& random,
                                     uint64_t seed) {
  validate(pattern);
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    const int64_t length = pattern.lengths[s], head = random.between(0, pattern.heads - 1);
    const auto sequence = static_cast<int64_t>(s);
    if (length == 0) continue;
    const CellCounter counter(pattern, sequence, head);
    std::vector<int64_t> edges = {random.between(0, length - 1)};
    while (edges.back() < length && edges.size() < 9) {
      edges.push_back(random.between(edges.back() + 1, length));
    }
    Interval rows = {random.between(0, length - 1), 0};
    rows.end = random.between(rows.begin, length);
    const std::vector<PairCounts> cells = counter.strip(rows, edges);
    ASSERT_EQ(cells.size(), edges.size() - 1);
    for (size_t c = 0; c < cells.size(); ++c) {
      int64_t expected = 0, of_globals = 0;
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = edges[c]; j < edges[c + 1]; ++j) {
          const int64_t times = count(pattern, sequence, head, i, j);
          expected += times;
          of_globals +=
              times > 0 && (is_global(pattern, sequence, i) || is_global(pattern, sequence, j));
        }
      }
      ASSERT_EQ(cells[c].total(), expected)
          << testing::repro(seed, pattern) << " rows " << rows.begin << "-" << rows.end << " keys "
          << edges[c] << "-" << edges[c + 1];
      ASSERT_EQ(cells[c].global, of_globals) << testing::repro(seed, pattern);
    }
    int64_t padding = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) padding += padding_keys(pattern, sequence, i);
    ASSERT_EQ(counter.padding(rows), padding) << testing::repro(seed, pattern);
  }
}

TEST(CountCells, SumTheDefinitionOnRandomWindows) {
  for (int64_t seed = 1; seed <= testing::test_cases(300); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const AttentionPattern pattern = testing::random_pattern(random);
    expect_cells_sum_the_definition(pattern, random, static_cast<uint64_t>(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(CountCells, SumTheDefinitionOnRandomBlocksAndGrids) {
  for (int64_t seed = 1; seed <= testing::test_cases(600); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const AttentionPattern pattern = random_shape(random);
    expect_cells_sum_the_definition(pattern, random, static_cast<uint64_t>(seed));
    if (HasFatalFailure()) return;
  }
}

// Window 512, token 0 global: n·513 - 256·257 of the band, and on row and column 0 the n - 257
// tokens that it does not reach.
TEST(CountCells, TheFiguresOfTheWindowWithAGlobalToken) {
  const std::array<std::array<int64_t, 2>, 3> known = {
      {{1024, 461'054}, {2048, 988'414}, {4096, 2'043'134}}};
  for (const auto& [length, all] : known) {
    AttentionPattern pattern;
    pattern.lengths = {length};
    pattern.window = Window{256, 256};
    pattern.global = {{0}};
    const PairCounts counts = count_all(pattern, 0, 0);
    EXPECT_EQ(counts.total(), length * 513 - 256 * 257 + 2 * (length - 257));
    EXPECT_EQ(counts.total(), all);
    EXPECT_EQ(counts.global, 2 * length - 1);
    EXPECT_EQ(counts.listed, 0);
  }
}

// A million tokens: only what is near is visited, whatever the shape.
TEST(CountCells, AMillionTokens) {
  const int64_t length = 1'048'576;
  AttentionPattern dilated;
  dilated.lengths = {length};
  dilated.window = Window{256, 256};
  dilated.dilation = {4};
  // Four classes of length / 4 tokens, each a plain band.
  EXPECT_EQ(count_all(dilated, 0, 0).total(), 4 * (length / 4 * 513 - 256 * 257));
  AttentionPattern boxes;
  boxes.lengths = {length};
  boxes.grid = Grid{1024, 1024, 32, 32, 16};
  // Each axis falls into 31 whole ranges and two halves: sums of squares 32·32·31 + 2·16·16.
  const int64_t axis = 32 * 32 * 31 + 2 * 16 * 16;
  EXPECT_EQ(count_all(boxes, 0, 0).total(), axis * axis);
  const AttentionPattern bigbird = bigbird_pattern({.length = length});
  const int64_t blocks = length / 64;
  const PairCounts counts = count_all(bigbird, 0, 0);
  EXPECT_EQ(counts.listed, (blocks - 2) * 3 * 64 * 64);
  EXPECT_EQ(counts.global, 4 * 64 * length - 128 * 128);
  EXPECT_EQ(counts.local, (3 * (blocks - 2) - 2) * 64 * 64);  // the inner blocks' window
}

// Boxes as high as the map, or nearly: a box has as many rows as there are tokens.
TEST(CountCells, AMillionTokensInHighBoxes) {
  const int64_t height = 1'048'576, high = 700'000;
  AttentionPattern pattern;
  pattern.lengths = {height};
  pattern.grid = Grid{height, 1, high, 1, 0};
  const int64_t low = height - high;
  EXPECT_EQ(count_all(pattern, 0, 0).local, high * high + low * low);
  // The queries of the second box count the places below the map as well.
  EXPECT_EQ(CellCounter(pattern, 0, 0).padding({0, height}), low * (2 * high - height));
  std::vector<int64_t> edges;
  for (int64_t edge = 0; edge <= height; edge += height / 256) edges.push_back(edge);
  const CellCounter counter(pattern, 0, 0);
  int64_t local = 0;
  for (size_t r = 0; r + 1 < edges.size(); ++r) {
    for (const PairCounts& cell : counter.strip({edges[r], edges[r + 1]}, edges)) {
      local += cell.local;
    }
  }
  EXPECT_EQ(local, high * high + low * low);
  // A global token below: one query and one key less in the second box.
  pattern.global = {{height - 1}};
  EXPECT_EQ(count_all(pattern, 0, 0).local, high * high + (low - 1) * (low - 1));
  // Columns one token wide.
  pattern.global.clear();
  pattern.grid = Grid{1024, 1024, 1024, 1, 0};
  EXPECT_EQ(count_all(pattern, 0, 0).local, height * 1024);
}

}  // namespace
}  // namespace longformer
