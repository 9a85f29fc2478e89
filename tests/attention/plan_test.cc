#include "attention/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "patterns.h"

namespace longformer {
namespace {

using testing::alone;
using testing::Random;
using testing::random_pattern;
using testing::repro;
using testing::test_cases;

// Which row of the batch owns each key row of a group; -1: none.
std::vector<int64_t> key_owners(const AttentionPlan& plan, const HeadGroup& group) {
  std::vector<int64_t> owners(static_cast<size_t>(plan.key_rows), -1);
  for (int64_t row = 0; row < plan.rows; ++row) {
    owners[static_cast<size_t>(group.key_row[static_cast<size_t>(row)])] = row;
  }
  return owners;
}

int64_t sequence_of(const AttentionPlan& plan, int64_t row) {
  int64_t s = 0;
  while (row >= plan.sequence_begin[static_cast<size_t>(s) + 1]) ++s;
  return s;
}

bool is_excluded(const AttentionPlan& plan, const QueryTile& tile, int64_t key) {
  for (int32_t e = 0; e < tile.excluded_count; ++e) {
    if (plan.excluded[static_cast<size_t>(tile.first_excluded + e)] == key) return true;
  }
  return false;
}

// The rule in plan.h, word by word, without global columns.
bool tile_counts(const AttentionPlan& plan, const QueryTile& tile, int64_t r, int64_t key) {
  const int64_t query = tile.position + r;
  return std::max<int64_t>(tile.limit_begin, query - tile.left) <= key &&
         key < std::min<int64_t>(tile.limit_end, query + tile.right + 1) &&
         !is_excluded(plan, tile, key);
}

// How often query row i counts key row j in one group, both rows of the batch.
class Counts {
 public:
  explicit Counts(const AttentionPlan& plan)
      : rows_(plan.rows), counts_(static_cast<size_t>(plan.rows * plan.rows)) {}
  // j may be -1, a key row that no token owns: at() then throws.
  void add(int64_t i, int64_t j, int64_t n = 1) {
    counts_.at(j < 0 ? counts_.size() : static_cast<size_t>(i * rows_ + j)) +=
        static_cast<uint8_t>(n);
  }
  bool operator==(const Counts&) const = default;

 private:
  int64_t rows_;
  std::vector<uint8_t> counts_;
};

void count_tile(const AttentionPlan& plan, const QueryTile& tile,
                const std::vector<int64_t>& owners, Counts& counts) {
  const HeadGroup& group = plan.groups[static_cast<size_t>(tile.group)];
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t i = tile.first_row + r * tile.step;
    const int64_t position = i - plan.sequence_begin[static_cast<size_t>(tile.sequence)];
    if (is_global(plan.pattern, tile.sequence, position)) continue;  // GlobalRows replaces it
    const bool zero = plan.pattern.masked_query == MaskedQuery::kZero;
    if (zero && plan.valid_row[static_cast<size_t>(i)] == 0) continue;
    for (const int32_t key : group.global_key_rows[static_cast<size_t>(tile.sequence)]) {
      counts.add(i, owners[static_cast<size_t>(key)]);
    }
    for (int32_t n = tile.first_range; n < tile.first_range + tile.range_count; ++n) {
      const KeyRange& range = plan.ranges[static_cast<size_t>(n)];
      for (int64_t key = range.begin; key < range.end; ++key) {
        if (tile_counts(plan, tile, r, key)) counts.add(i, owners[static_cast<size_t>(key)]);
      }
    }
  }
}

void count_globals(const AttentionPlan& plan, Counts& counts) {
  for (const GlobalRows& global : plan.global_rows) {
    for (const int64_t i : global.rows) {
      for (const Interval& block : global.blocks) {
        for (int64_t j = block.begin; j < block.end; ++j) {
          if (plan.valid_row[static_cast<size_t>(j)] != 0) counts.add(i, j);
        }
      }
    }
  }
}

Counts expected_counts(const AttentionPlan& plan, int64_t head) {
  Counts counts(plan);
  for (size_t s = 0; s < plan.pattern.lengths.size(); ++s) {
    const int64_t base = plan.sequence_begin[s];
    for (int64_t i = 0; i < plan.pattern.lengths[s]; ++i) {
      for (int64_t j = 0; j < plan.pattern.lengths[s]; ++j) {
        const int64_t n = count(plan.pattern, static_cast<int64_t>(s), head, i, j);
        if (n != 0) counts.add(base + i, base + j, n);
      }
    }
  }
  return counts;
}

TEST(PlanCoverage, EveryAllowedPairExactlyOnceAndNoOther) {
  for (int64_t seed = 0; seed < test_cases(200); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed), pattern));
    const AttentionPlan plan = compile(pattern);
    ASSERT_EQ(plan.head_group.size(), static_cast<size_t>(pattern.heads));
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      Counts actual(plan);
      const std::vector<int64_t> owners = key_owners(plan, plan.groups[g]);
      for (const QueryTile& tile : plan.tiles) {
        if (tile.group == static_cast<int32_t>(g)) count_tile(plan, tile, owners, actual);
      }
      count_globals(plan, actual);
      // Heads of a group share a dilation, so one of them stands for all.
      const int32_t head = plan.groups[g].heads.back();
      ASSERT_EQ(plan.head_group[static_cast<size_t>(head)], static_cast<int32_t>(g));
      ASSERT_TRUE(actual == expected_counts(plan, head)) << "group " << g;
    }
  }
}

TEST(PlanGroups, HeadsByIncreasingDilationEachOnce) {
  AttentionPattern pattern;
  pattern.heads = 5;
  pattern.lengths = {100};
  pattern.window = Window{3, 3};
  pattern.dilation = {4, 1, 2, 1, 4};
  const AttentionPlan plan = compile(pattern);
  ASSERT_EQ(plan.groups.size(), 3u);
  EXPECT_EQ(plan.groups[0].dilation, 1);
  EXPECT_EQ(plan.groups[0].heads, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(plan.groups[1].heads, (std::vector<int32_t>{2}));
  EXPECT_EQ(plan.groups[2].heads, (std::vector<int32_t>{0, 4}));
  EXPECT_EQ(plan.head_group, (std::vector<int32_t>{2, 0, 1, 0, 2}));
  // 100 tokens in 4 classes of 25, each padded to 32: residue order, token 5 is the second of
  // class 1.
  EXPECT_EQ(plan.groups[2].key_row[5], 33);
  EXPECT_EQ(plan.key_rows, 128);
}

void check_rows_once(const AttentionPlan& plan) {
  int64_t next_row = 0;
  int32_t next_tile = 0;
  for (const RowBlock& block : plan.blocks) {
    ASSERT_EQ(block.begin, next_row);
    ASSERT_LT(block.begin, block.end);
    ASSERT_EQ(sequence_of(plan, block.begin), sequence_of(plan, block.end - 1));
    ASSERT_EQ(block.first_tile, next_tile);
    next_row = block.end;
    next_tile += block.tile_count;
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      std::vector<int> seen(static_cast<size_t>(block.end - block.begin), 0);
      for (int32_t t = block.first_tile; t < next_tile; ++t) {
        const QueryTile& tile = plan.tiles[static_cast<size_t>(t)];
        if (tile.group != static_cast<int32_t>(g)) continue;
        ASSERT_GE(tile.rows, 1);
        ASSERT_LE(tile.rows, kQueryRows);
        for (int64_t r = 0; r < tile.rows; ++r) {
          const int64_t row = tile.first_row + r * tile.step;
          ASSERT_TRUE(block.begin <= row && row < block.end);
          ++seen[static_cast<size_t>(row - block.begin)];
          ASSERT_EQ(plan.groups[g].key_row[static_cast<size_t>(row)], tile.position + r);
        }
      }
      ASSERT_EQ(seen, std::vector<int>(seen.size(), 1));
    }
  }
  ASSERT_EQ(next_row, plan.rows);
  ASSERT_EQ(next_tile, static_cast<int32_t>(plan.tiles.size()));
}

bool counts_all(const AttentionPlan& plan, const QueryTile& tile, const KeyRange& range) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const auto row = static_cast<size_t>(tile.first_row + r * tile.step);
    if (plan.pattern.masked_query == MaskedQuery::kZero && plan.valid_row[row] == 0) return false;
    for (int64_t key = range.begin; key < range.end; ++key) {
      if (!tile_counts(plan, tile, r, key)) return false;
    }
  }
  return true;
}

bool counts_any(const AttentionPlan& plan, const QueryTile& tile, const KeyRange& range) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t key = range.begin; key < range.end; ++key) {
      if (tile_counts(plan, tile, r, key)) return true;
    }
  }
  return false;
}

// A range reads rows of its own residue class and zero rows only, inside the plane.
void check_ranges(const AttentionPlan& plan, const QueryTile& tile,
                  const std::vector<int64_t>& owners) {
  int64_t previous_end = 0;
  for (int32_t n = tile.first_range; n < tile.first_range + tile.range_count; ++n) {
    const KeyRange& range = plan.ranges[static_cast<size_t>(n)];
    ASSERT_GE(range.begin, previous_end);
    ASSERT_GT(range.end, range.begin);
    ASSERT_LE(range.end, plan.key_rows);
    ASSERT_EQ((range.end - range.begin) % kKeyAlign, 0);
    ASSERT_LE(range.end - range.begin, kStripKeys);
    previous_end = range.end;
    for (int64_t key = range.begin; key < range.end; ++key) {
      const int64_t owner = owners[static_cast<size_t>(key)];
      if (owner < 0) continue;
      ASSERT_EQ(sequence_of(plan, owner), tile.sequence);
      ASSERT_EQ((owner - tile.first_row) % tile.step, 0);
    }
    ASSERT_EQ(range.full, counts_all(plan, tile, range));
    ASSERT_TRUE(counts_any(plan, tile, range));
  }
}

void check_classes(const AttentionPlan& plan, const HeadGroup& group) {
  for (size_t s = 0; s < plan.pattern.lengths.size(); ++s) {
    const int64_t begin = plan.sequence_begin[s];
    for (int64_t row = begin; row < plan.sequence_begin[s + 1]; ++row) {
      const int32_t key = group.key_row[static_cast<size_t>(row)];
      if (row - begin < group.dilation) {
        ASSERT_EQ(key % kKeyAlign, 0);
      } else {
        ASSERT_EQ(key, group.key_row[static_cast<size_t>(row - group.dilation)] + 1);
      }
    }
  }
}

TEST(PlanInvariants, SpansStayInsideTheirClassAndRowsAreCoveredOnce) {
  for (int64_t seed = 0; seed < test_cases(200); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 1'000'000);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed) + 1'000'000, pattern));
    const AttentionPlan plan = compile(pattern);
    ASSERT_NO_FATAL_FAILURE(check_rows_once(plan));
    std::vector<std::vector<int64_t>> owners;
    for (const HeadGroup& group : plan.groups) {
      ASSERT_NO_FATAL_FAILURE(check_classes(plan, group));
      owners.push_back(key_owners(plan, group));
    }
    for (const QueryTile& tile : plan.tiles) {
      ASSERT_NO_FATAL_FAILURE(check_ranges(plan, tile, owners[static_cast<size_t>(tile.group)]));
      for (int32_t e = 1; e < tile.excluded_count; ++e) {
        const auto at = static_cast<size_t>(tile.first_excluded + e);
        ASSERT_LT(plan.excluded[at - 1], plan.excluded[at]);
      }
    }
  }
}

// Everything about a tile that can decide bits, counted from the first valid row and the first
// valid key of its class.
struct TileShape {
  std::tuple<int32_t, int64_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t> numbers;
  std::vector<std::tuple<int32_t, int32_t, bool>> ranges;
  std::vector<int32_t> excluded;
  bool operator==(const TileShape&) const = default;
};

TileShape shape_of(const AttentionPlan& plan, const QueryTile& tile, int64_t first_valid) {
  TileShape shape;
  // Without any valid key in its class, where the tile stands does not matter.
  const bool keys = tile.limit_begin < tile.limit_end;
  shape.numbers = {tile.group,
                   tile.first_row - first_valid,
                   tile.step,
                   tile.rows,
                   keys ? tile.position - tile.limit_begin : 0,
                   tile.left,
                   tile.right,
                   tile.limit_end - tile.limit_begin};
  for (int32_t n = tile.first_range; n < tile.first_range + tile.range_count; ++n) {
    const KeyRange& range = plan.ranges[static_cast<size_t>(n)];
    shape.ranges.emplace_back(range.begin - tile.limit_begin, range.end - tile.limit_begin,
                              range.full);
  }
  for (int32_t e = 0; e < tile.excluded_count; ++e) {
    shape.excluded.push_back(plan.excluded[static_cast<size_t>(tile.first_excluded + e)] -
                             tile.limit_begin);
  }
  return shape;
}

// Tiles of the blocks between the first and last valid row of a sequence, and the blocks of its
// global rows.
struct SequenceShape {
  std::vector<TileShape> tiles;
  std::vector<Interval> blocks;
  std::vector<Interval> global_blocks;
  std::vector<int64_t> global_rows;
  bool operator==(const SequenceShape&) const = default;
};

SequenceShape sequence_shape(const AttentionPlan& plan, size_t s) {
  SequenceShape shape;
  int64_t first = plan.sequence_begin[s];
  int64_t last = plan.sequence_begin[s + 1];
  while (first < last && plan.valid_row[static_cast<size_t>(first)] == 0) ++first;
  while (last > first && plan.valid_row[static_cast<size_t>(last - 1)] == 0) --last;
  for (const RowBlock& block : plan.blocks) {
    if (block.begin < first || block.begin >= last) continue;
    shape.blocks.push_back({block.begin - first, block.end - first});
    for (int32_t t = block.first_tile; t < block.first_tile + block.tile_count; ++t) {
      shape.tiles.push_back(shape_of(plan, plan.tiles[static_cast<size_t>(t)], first));
    }
  }
  for (const GlobalRows& global : plan.global_rows) {
    if (global.sequence != static_cast<int32_t>(s)) continue;
    for (const Interval& block : global.blocks) {
      shape.global_blocks.push_back({block.begin - first, block.end - first});
    }
    for (const int64_t row : global.rows) shape.global_rows.push_back(row - first);
  }
  return shape;
}

TEST(PlanInvariants, ASequenceIsCutTheSameAloneInABatchAndWithPadding) {
  for (int64_t seed = 0; seed < test_cases(100); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 2'000'000);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed) + 2'000'000, pattern));
    const AttentionPlan batch = compile(pattern);
    for (size_t s = 0; s < pattern.lengths.size(); ++s) {
      const SequenceShape in_batch = sequence_shape(batch, s);
      ASSERT_TRUE(sequence_shape(compile(alone(pattern, s)), 0) == in_batch) << "alone";
      const int64_t right = random.between(1, 200);
      ASSERT_TRUE(sequence_shape(compile(alone(pattern, s, 0, right)), 0) == in_batch)
          << right << " masked tokens to the right";
      const int64_t left = random.between(1, 200);
      ASSERT_TRUE(sequence_shape(compile(alone(pattern, s, left, right)), 0) == in_batch)
          << left << " masked tokens to the left";
    }
  }
}

TEST(PlanTiles, LongAndShortSequences) {
  AttentionPattern pattern;
  pattern.lengths = {4096, 256, 257};
  pattern.window = Window{256, 256};
  const AttentionPlan plan = compile(pattern);
  ASSERT_EQ(plan.blocks.size(), 64u + 16u + 5u);
  const QueryTile& inner = plan.tiles[20];
  EXPECT_EQ(inner.rows, 64);
  ASSERT_EQ(inner.range_count, 1);
  const KeyRange& range = plan.ranges[static_cast<size_t>(inner.first_range)];
  EXPECT_EQ(range.begin, 20 * 64 - 256);
  EXPECT_EQ(range.end, 20 * 64 + 64 + 256);
  EXPECT_EQ(plan.tiles[64].rows, 16);
  EXPECT_EQ(plan.tiles[80].rows, 64);
  EXPECT_EQ(plan.tiles[84].rows, 1);
}

TEST(PlanTiles, SpansHaveFewSizes) {
  std::map<int32_t, int> sizes;
  for (int64_t length = 1; length <= 1500; length += 7) {
    AttentionPattern pattern;
    pattern.lengths = {length};
    pattern.window = Window{256, 256};
    for (const KeyRange& range : compile(pattern).ranges) ++sizes[range.end - range.begin];
  }
  EXPECT_LE(sizes.size(), 18u);  // multiples of 32 up to 576
  EXPECT_EQ(sizes.rbegin()->first, 576);
}

TEST(PlanTiles, FullAttentionIsCutIntoStripsAndWholeHolesAreDropped) {
  AttentionPattern pattern;
  pattern.lengths = {5000};
  AttentionPlan plan = compile(pattern);
  ASSERT_EQ(plan.tiles[0].range_count, 3);
  EXPECT_TRUE(plan.ranges[0].full);
  EXPECT_TRUE(plan.ranges[1].full);
  EXPECT_EQ(plan.ranges[2].begin, 4096);
  EXPECT_EQ(plan.ranges[2].end, 5024);
  EXPECT_FALSE(plan.ranges[2].full);  // 24 rows of it are no keys
  pattern.valid = {{{0, 100}, {4900, 5000}}};
  plan = compile(pattern);
  ASSERT_EQ(plan.tiles[0].range_count, 2);
  EXPECT_EQ(plan.ranges[0].end, 2048);
  EXPECT_EQ(plan.ranges[1].begin, 4096);
}

TEST(PlanTiles, MaskedSequencesHaveTilesButNoWork) {
  AttentionPattern pattern;
  pattern.lengths = {40, 0};
  pattern.global = {{3}, {}};
  pattern.valid = {{}, {}};
  const AttentionPlan plan = compile(pattern);
  EXPECT_EQ(plan.rows, 40);
  EXPECT_TRUE(plan.ranges.empty());
  EXPECT_TRUE(plan.global_rows.empty());
  EXPECT_EQ(plan.tiles.size(), 3u);
}

}  // namespace
}  // namespace longformer
