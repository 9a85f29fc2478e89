// The attention half of a post-norm encoder layer, over row tiles:
//   a = LayerNorm(x + Wo · attention(x) + bo)
// in two steps with a barrier between them, because a tile reads keys of its neighbours:
// project_keys_values() for all tiles, then attention_block() for all tiles. Shapes: x and a [rows,
// hidden], hidden = heads · head_dim. Scaling by 1/sqrt(head_dim) is applied to q after its bias
// (Longformer spec: the bias is scaled too).
#pragma once

#include <cstdint>
#include <vector>

#include "attention/forward.h"
#include "attention/plan.h"
#include "ops/row_tiles.h"
#include "ops/weights.h"

namespace longformer {

// A projection that only global rows use, as stored: their few rows are multiplied without packing.
struct GlobalProjection {
  Matrix weight;            // [hidden, hidden]
  std::vector<float> bias;  // [hidden]
};

struct AttentionWeights {
  Linear query, key, value, output;
  LayerNorm norm;
  GlobalProjection query_global, key_global, value_global;  // empty where the family has none
};

// Keys and values of all heads, [heads][plan.key_rows][head_dim] each. Rows that no token owns hold
// zeros.
struct KeyValuePlanes {
  float* k = nullptr;
  float* v = nullptr;
};

// Working memory of one thread for tiles of one plan.
class BlockScratch {
 public:
  void resize(const AttentionPlan& plan, const std::vector<RowTile>& tiles, int64_t hidden,
              int64_t intermediate);

  std::vector<float> projected;     // [tile rows, hidden]
  std::vector<float> context;       // [tile rows, hidden]
  std::vector<float> attended;      // [tile rows, hidden]
  std::vector<float> intermediate;  // [tile rows, intermediate]
  std::vector<float> queries;       // [heads][query plane rows][head_dim]
  std::vector<int32_t> places;      // [tile rows]
  AttentionScratch attention;
};

// Writes the keys and values of the tile's rows into the planes.
void project_keys_values(const AttentionPlan& plan, const AttentionWeights& weights,
                         int64_t head_dim, const float* x, const RowTile& tile,
                         const KeyValuePlanes& planes, BlockScratch& scratch);

// `global_context` [global rows of the batch, hidden] holds what global rows attend to, in the
// order of plan.global_rows (null: no globals). Writes a [tile rows, hidden] to `out`, which may
// not be x.
void attention_block(const AttentionPlan& plan, const AttentionWeights& weights, int64_t head_dim,
                     const float* x, const RowTile& tile, const KeyValuePlanes& planes,
                     const float* global_context, float* out, BlockScratch& scratch);

}  // namespace longformer
