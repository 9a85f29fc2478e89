// The attention half of an encoder layer:
//   post-norm  a = LayerNorm(x + Wo · attention(x) + bo)
//   pre-norm   a = x + Wo · attention(LayerNorm(x)) + bo
// as steps over ranges of rows and heads. A tile of queries reads keys of its neighbours, so
// project_keys_values() of all rows comes before attend() of any; how ranges are cut changes speed,
// never bits. Shapes: x and a [rows, hidden], hidden = heads · head_dim. Scaling by
// 1/sqrt(head_dim) is applied to q after its bias (Longformer spec: the bias is scaled too); rotary
// positions turn q and k as they are written into their planes. add_linear() of residual.h ends it.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/backward.h"
#include "attention/forward.h"
#include "attention/plan.h"
#include "kernels/gemm.h"
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

// The type of queries, keys and values: bf16 where the products are below f32 and the processor
// multiplies bf16, else f32.
DType plane_type(const AttentionWeights& weights);

// Keys and values of all heads, [heads][plan.key_rows][head_dim] each. Rows that no token owns hold
// zeros.
struct KeyValuePlanes {
  DType type = DType::kF32;
  void* k = nullptr;
  void* v = nullptr;  // null: only keys are projected
};
// Both of `elements` zeros, and nothing else, in the arena.
KeyValuePlanes zeroed_planes(Arena& arena, int64_t elements, DType type);
size_t planes_bytes(int64_t elements, DType type) noexcept;

// Queries of all heads, [heads][plane_rows][head_dim]: those of one row tile, or (tile null) of the
// whole batch.
struct QueryPlanes {
  DType type = DType::kF32;
  void* q = nullptr;
  int64_t plane_rows = 0;
  const RowTile* tile = nullptr;
  // The query row (AttentionPlan) that stands first in a plane.
  int64_t first_row(const AttentionPlan& plan, int32_t group) const;
  static int64_t rows_needed(const AttentionPlan& plan, const RowTile* tile);
};

// Half-open.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const noexcept { return end - begin; }
};
struct HeadRange {
  int64_t begin = 0;
  int64_t end = 0;
};
// Head ranges that begin and end at multiples of this are column ranges of the projections.
int64_t head_quantum(int64_t head_dim);

// What the projections read of rows [rows, hidden]: x itself, or in pre-norm layers its norm, in
// `buffer`.
const float* attention_input(const AttentionWeights& weights, int64_t rows, int64_t hidden,
                             const float* x, float* buffer);

// Writes keys and values of `heads` of the rows into the planes. input: the converted rows of the
// range. sums: working memory [rows, columns of the heads].
void project_keys_values(const LayerContext& context, const AttentionWeights& weights,
                         int64_t head_dim, const kernels::Rows& input, RowRange rows,
                         HeadRange heads, const KeyValuePlanes& planes, float* sums);
void project_queries(const LayerContext& context, const AttentionWeights& weights, int64_t head_dim,
                     const kernels::Rows& input, RowRange rows, HeadRange heads,
                     const QueryPlanes& queries, float* sums);

// What training does besides: dropout of probabilities, and keeping the logsumexp of each query.
struct AttendRecord {
  const AttentionDropout* dropout = nullptr;  // null: none
  float* logsumexp = nullptr;                 // [heads][queries.plane_rows]; null: not kept
};

// One head of query tile `tile` of the plan. Row `row` of the batch goes to attended + (row -
// first_row) * hidden + head * head_dim.
void attend(const AttentionPlan& plan, int64_t head_dim, int32_t tile, int32_t head,
            const QueryPlanes& queries, const KeyValuePlanes& planes, float* attended,
            int64_t first_row, AttentionScratch& scratch, const AttendRecord& record = {});

// Rows of `attended` that are global take what GlobalAttention computed for them: global_context
// [global rows of the batch, hidden], in the order of plan.global_rows; null: none are.
void replace_global_rows(const AttentionPlan& plan, int64_t hidden, RowRange rows,
                         const float* global_context, float* attended);

}  // namespace longformer
