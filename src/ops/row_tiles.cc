#include "ops/row_tiles.h"

#include <algorithm>

#include "attention/align.h"

namespace longformer {

std::vector<RowTile> make_row_tiles(const AttentionPlan& plan, int threads) {
  const int64_t share = (plan.rows + threads - 1) / threads;
  const int64_t most = std::clamp(round_up(share, kShortQueryRows), kShortQueryRows, kTileRows);
  std::vector<RowTile> tiles;
  for (const RowBlock& block : plan.blocks) {
    if (block.begin == block.end) continue;
    if (tiles.empty() || block.end - tiles.back().begin > most) {
      tiles.push_back({block.begin, block.begin, block.first_tile, 0});
    }
    tiles.back().end = block.end;
    tiles.back().tile_count += block.tile_count;
  }
  return tiles;
}

}  // namespace longformer
