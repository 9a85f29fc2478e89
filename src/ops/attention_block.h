// The attention half of an encoder layer, over row tiles:
//   post-norm  a = LayerNorm(x + Wo · attention(x) + bo)
//   pre-norm   a = x + Wo · attention(LayerNorm(x)) + bo
// in two steps with a barrier between them, because a tile reads keys of its neighbours:
// project_keys_values() for all tiles, then attention_block() for all tiles. Shapes: x and a [rows,
// hidden], hidden = heads · head_dim. Scaling by 1/sqrt(head_dim) is applied to q after its bias
// (Longformer spec: the bias is scaled too); rotary positions turn q and k as they are written into
// their planes. A pre-norm tile is normalised in both steps: twice a row's norm is less than a
// buffer of all rows would cost.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/forward.h"
#include "attention/plan.h"
#include "ops/rotary.h"
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
  NormPlacement placement = NormPlacement::kPost;
  GlobalProjection query_global, key_global, value_global;  // empty where the family has none
};

// What a layer is computed with, besides its weights.
struct LayerContext {
  const AttentionPlan* plan = nullptr;
  const RotaryAngles* rotary = nullptr;  // null: positions are not rotary
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
void project_keys_values(const LayerContext& context, const AttentionWeights& weights,
                         int64_t head_dim, const float* x, const RowTile& tile,
                         const KeyValuePlanes& planes, BlockScratch& scratch);

// `global_context` [global rows of the batch, hidden] holds what global rows attend to, in the
// order of plan.global_rows (null: no globals). Writes a [tile rows, hidden] to `out`, which may
// not be x.
void attention_block(const LayerContext& context, const AttentionWeights& weights, int64_t head_dim,
                     const float* x, const RowTile& tile, const KeyValuePlanes& planes,
                     const float* global_context, float* out, BlockScratch& scratch);

}  // namespace longformer
