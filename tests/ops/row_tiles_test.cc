#include "ops/row_tiles.h"

#include <gtest/gtest.h>

namespace longformer {
namespace {

AttentionPlan plan_of(std::vector<int64_t> lengths) {
  AttentionPattern pattern;
  pattern.lengths = std::move(lengths);
  pattern.window = Window{32, 32};
  return compile(pattern);
}

TEST(RowTiles, CoverAllRowsOnceInOrder) {
  const AttentionPlan plan = plan_of({1, 70, 1000, 3, 5, 129});
  for (const int threads : {1, 2, 7, 64}) {
    int64_t row = 0;
    int32_t tile = 0;
    for (const RowTile& t : make_row_tiles(plan, threads)) {
      EXPECT_EQ(t.begin, row);
      EXPECT_EQ(t.first_tile, tile);
      EXPECT_GT(t.rows(), 0);
      EXPECT_LE(t.rows(), kTileRows);
      row = t.end;
      tile += t.tile_count;
    }
    EXPECT_EQ(row, plan.rows);
    EXPECT_EQ(tile, static_cast<int32_t>(plan.tiles.size()));
  }
}

TEST(RowTiles, ShortTextsShareATile) {
  const AttentionPlan plan = plan_of(std::vector<int64_t>(10, 12));
  EXPECT_EQ(make_row_tiles(plan, 1).size(), 1u);
}

TEST(RowTiles, FewRowsAreSharedByTheThreads) {
  const AttentionPlan plan = plan_of({64});
  EXPECT_EQ(make_row_tiles(plan, 2).size(), 2u);
  EXPECT_EQ(make_row_tiles(plan, 4).size(), 4u);
}

}  // namespace
}  // namespace longformer
