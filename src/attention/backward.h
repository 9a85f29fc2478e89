// Derivatives of tiled attention over a plan, with recomputation: only logsumexp of each (query,
// head) is kept from the forward pass. For each tile of queries and key range (FlashAttention,
// Dao et al. 2022, section 3.2, with the pattern of the plan):
//   P = exp(Q Kᵀ - logsumexp)      dV += Pᵀ dO      dP = dO Vᵀ      delta = rowsum(dO ∘ O)
//   dS = P ∘ (dP - delta)          dQ += dS K       dK += dSᵀ Q
// five products a tile. q is scaled already; dQ is by the scaled q. Rows of dO that are global, not
// valid (under MaskedQuery::kZero) or count no key add nothing. Work unit: (sequence, head, fixed
// chunk of kBackwardQueries queries) with dK and dV of its own for the keys that it sees, added in
// the order of chunks: the bits depend neither on threads nor on other sequences.
#pragma once

#include <cstdint>

#include "attention/dropout.h"
#include "attention/plan.h"
#include "tensor/dtype.h"

namespace longformer {

class ThreadPool;

inline constexpr int64_t kBackwardQueries = 1024;

// Planes as ops/attention_block.h lays them out: q [heads][query_plane_rows][head_dim] in the
// plan's query rows, k and v [heads][plan.key_rows][head_dim], of `type`.
struct AttentionSaved {
  DType type = DType::kF32;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t query_plane_rows = 0;
  const float* logsumexp = nullptr;  // [heads][query_plane_rows]
  const float* out = nullptr;        // [rows][heads][head_dim]
};

// All are overwritten, f32, in the layout of the planes they belong to; rows that no token owns get
// zeros.
struct AttentionDerivatives {
  float* q = nullptr;
  float* k = nullptr;
  float* v = nullptr;
};

// d_out: [rows][heads][head_dim]. Under kBF16 P, dS and dO are rounded to bf16 in front of the
// products, and delta is that of the rounded dO; sums stay f32. dropout: null, or what the forward
// pass had.
void attention_backward(const AttentionPlan& plan, int64_t head_dim, const AttentionSaved& saved,
                        const float* d_out, const AttentionDropout* dropout,
                        const AttentionDerivatives& derivatives, ThreadPool& pool);

}  // namespace longformer
