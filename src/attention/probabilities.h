// The probabilities of attention_tile(), for those who look at them: which keys each query of a
// tile counts, and with what weight. Formula: p = softmax over the counted keys of q·k_j. The
// products and the softmax are those of the kernel, its running rescale from strip to strip is not
// needed; nothing is rounded to bf16 behind the softmax.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/plan.h"

namespace longformer {

// The keys of each query of a tile: global columns first, then those of the window, both
// increasing. As key rows of the tile's group.
struct TileKeys {
  std::vector<int64_t> begin;  // [tile.rows + 1]: query r counts keys [begin[r], begin[r + 1])
  std::vector<int32_t> keys;
};
TileKeys tile_keys(const AttentionPlan& plan, const QueryTile& tile);

// Working memory of one thread.
struct ProbabilityScratch {
  std::vector<float> scores;
  std::vector<std::byte> gathered;
};

// weights [keys.keys.size()], in their order. q and k as attention_tile() takes them.
template <typename T>
void tile_probabilities(const AttentionPlan& plan, const QueryTile& tile, const TileKeys& keys,
                        int64_t head_dim, const T* q, const T* k, float* weights,
                        ProbabilityScratch& scratch);

// scores[count] becomes its softmax.
void softmax_row(int64_t count, float* scores);

}  // namespace longformer
