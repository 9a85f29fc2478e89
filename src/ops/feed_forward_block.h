// The feed-forward half of an encoder layer:
//   post-norm  y = LayerNorm(a + f(a))
//   pre-norm   y = a + f(LayerNorm(a))
//   plain      f(h) = W2 · act(W1 · h + b1) + b2
//   gated      f(h) = W2 · (act(u) * g) + b2, [u; g] = W1 · h + b1: W1 has twice the rows
// for a few rows at a time, or in steps over ranges of columns; add_linear() of residual.h is W2.
// The [rows, intermediate] tensor exists for those rows only.
#pragma once

#include <cstdint>

#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "ops/operand.h"
#include "ops/weights.h"

namespace longformer {

enum class FeedForwardKind { kPlain, kGated };

struct FeedForwardWeights {
  Linear inner;  // [intermediate, hidden]; gated: [2 · intermediate, hidden]
  Linear outer;  // [hidden, intermediate]
  LayerNorm norm;
  NormPlacement placement = NormPlacement::kPost;
  FeedForwardKind kind = FeedForwardKind::kPlain;
  kernels::Activation activation = kernels::Activation::kGelu;
  int64_t intermediate() const noexcept { return outer.weight.in_features(); }
};

// What the first product reads of rows a [rows, hidden]: a itself, or in pre-norm layers its norm,
// in `buffer`.
const float* feed_forward_input(const FeedForwardWeights& weights, int64_t rows, int64_t hidden,
                                const float* a, float* buffer);

// Columns of the intermediate tensor, activated, into `inner` (first of them at inner.data). sums:
// [rows, columns], twice that where gated. Where gated and not all columns are wanted, intermediate
// must be a multiple of kColumnQuantum.
void feed_forward_inner(const FeedForwardWeights& weights, int64_t rows, const kernels::Rows& input,
                        kernels::Columns columns, const kernels::RowsBuffer& inner, float* sums);

}  // namespace longformer
