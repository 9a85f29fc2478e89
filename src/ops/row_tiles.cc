#include "ops/row_tiles.h"

#include <algorithm>

#include "attention/align.h"

namespace longformer {

std::vector<RowTile> make_row_tiles(const AttentionPlan& plan, int threads,
                                    std::span<const uint8_t> blocks) {
  const auto taken = [&](size_t block) { return blocks.empty() || blocks[block] != 0; };
  int64_t rows = 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    if (taken(b)) rows += plan.blocks[b].end - plan.blocks[b].begin;
  }
  const int64_t share = (rows + threads - 1) / threads;
  const int64_t most = std::clamp(round_up(share, kShortQueryRows), kShortQueryRows, kTileRows);
  std::vector<RowTile> tiles;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const RowBlock& block = plan.blocks[b];
    if (block.begin == block.end || !taken(b)) continue;
    if (tiles.empty() || tiles.back().end != block.begin || block.end - tiles.back().begin > most) {
      tiles.push_back({block.begin, block.begin, block.first_tile, 0});
    }
    tiles.back().end = block.end;
    tiles.back().tile_count += block.tile_count;
  }
  return tiles;
}

}  // namespace longformer
