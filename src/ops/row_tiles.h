// Row tiles: runs of whole row blocks of a plan that are computed together while they stay in the
// cache. How blocks are grouped changes speed, never bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/plan.h"

namespace longformer {

inline constexpr int64_t kTileRows = 128;

struct RowTile {
  int64_t begin = 0;  // rows of the batch
  int64_t end = 0;
  int32_t first_tile = 0;  // query tiles of all its blocks
  int32_t tile_count = 0;
  int64_t rows() const noexcept { return end - begin; }
};

// Tiles of at most kTileRows rows (a larger block stands alone), small enough that each of
// `threads` has work. `blocks` [plan.blocks] marks those that are taken; empty: all.
std::vector<RowTile> make_row_tiles(const AttentionPlan& plan, int threads,
                                    std::span<const uint8_t> blocks = {});

}  // namespace longformer
