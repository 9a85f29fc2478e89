// Tiled attention over a plan: softmax(q kᵀ) v for each tile of queries, scores never leave the
// cache. Formula per query and head: out = Σ_j p_j v_j, p = softmax over the counted keys of q·k_j
// (q is already scaled). Running maximum and sum from strip to strip; one division at the end. A
// query that counts no key gives zeros. Cost: 4 · head_dim FLOP a computed (query, key) pair.
#pragma once

#include <cstdint>

#include "attention/dropout.h"
#include "attention/plan.h"
#include "tensor/arena.h"
#include "tensor/dtype.h"

namespace longformer {

class ThreadPool;

// Per-thread working memory of attention_tile; sized once, reused.
class AttentionScratch {
 public:
  // type: of the tiles, kF32 or kBF16.
  void resize(const AttentionPlan& plan, int64_t head_dim, DType type);
  // Bytes that resize() takes.
  static size_t bytes_for(const AttentionPlan& plan, int64_t head_dim, DType type);

  struct Parts {
    float* scores = nullptr;        // [kQueryRows][longest strip]
    void* probabilities = nullptr;  // the same in bf16; only for bf16
    float* out = nullptr;           // [kQueryRows][head_dim]
    void* gathered = nullptr;       // keys, then values of global columns
  };
  const Parts& parts() const noexcept { return parts_; }

 private:
  Arena arena_;
  Parts parts_;
};

// One tile of one head. T is float, or BFloat16 where kernels::supports(kBF16): then probabilities
// are rounded to bf16 in front of the second product; scores, sums and the output stay f32.
//   q      [tile.rows rounded up to 8][head_dim], scaled; rows past tile.rows must be finite
//   k, v   the head's plane [plan.key_rows][head_dim]
//   out    row r is written to out + r * out_stride, head_dim floats
//   lse    [tile.rows] log of the sum of exp, -infinity for a query that counts no key; may be null
//   dropout  of the probabilities of `head`, or null; lse is that of all of them all the same
template <typename T>
void attention_tile(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim, const T* q,
                    const T* k, const T* v, float* out, int64_t out_stride, float* lse,
                    AttentionScratch& scratch, int64_t head = 0,
                    const AttentionDropout* dropout = nullptr);

// Projections that the global rows use; all [rows][heads][head_dim] like q, k, v.
struct GlobalInputs {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
};

// The whole pattern on token-major inputs [plan.rows][heads][head_dim], q already scaled; out
// likewise, lse [rows][heads] or null. Global rows use `global` when
// plan.pattern.global_projections, else q, k, v. Runs on `pool`. Throws kInvalidArgument when
// head_dim is not in 1..kMaxHeadDim or projections of global rows are needed and not given. Under
// type kBF16 q, k and v are rounded to bf16 for the tiles; global rows stay f32.
void attention_forward(const AttentionPlan& plan, int64_t head_dim, const float* q, const float* k,
                       const float* v, const GlobalInputs& global, float* out, float* lse,
                       ThreadPool& pool, DType type = DType::kF32);

}  // namespace longformer
