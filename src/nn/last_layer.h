// The last layer for a caller who reads only some rows of it: a classifier reads one. Keys and
// values are computed where those rows look, attention for the blocks that hold them, everything
// behind it for these rows alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/encoder_layer.h"

namespace longformer {

struct LastLayerPlan {
  std::vector<RowRange> key_rows;  // increasing, disjoint, at most kTileRows each
  std::vector<RowTile> tiles;      // tiles that hold a wanted row which attends by itself
};

// wanted: increasing rows of the batch. Global rows attend elsewhere (GlobalAttention) and need
// nothing here.
LastLayerPlan plan_last_layer(const AttentionPlan& plan, std::span<const int64_t> wanted,
                              int threads);

// Rows [first, first + count) of `from` [rows, cols] that are wanted, to their places in `to`
// [wanted rows, cols]. `from` begins with row `first`.
void gather_wanted(std::span<const int64_t> wanted, int64_t first, int64_t count, int64_t cols,
                   const float* from, float* to);

// What global rows attend to (in the order of plan.global_rows), to the places of those wanted.
void gather_wanted_globals(const AttentionPlan& plan, std::span<const int64_t> wanted, int64_t cols,
                           const float* global_context, float* to);

// The other way: `from` [wanted rows, cols] into x [rows, cols], zeros elsewhere.
void scatter_wanted(std::span<const int64_t> wanted, int64_t rows, int64_t cols, const float* from,
                    float* x);

}  // namespace longformer
