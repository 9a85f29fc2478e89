// The feed-forward half of an encoder layer, for a few rows at a time:
//   post-norm  y = LayerNorm(a + f(a))
//   pre-norm   y = a + f(LayerNorm(a))
//   plain      f(h) = W2 · act(W1 · h + b1) + b2
//   gated      f(h) = W2 · (act(u) * g) + b2, [u; g] = W1 · h + b1: W1 has twice the rows
// The [rows, intermediate] tensor exists for one tile only.
#pragma once

#include <cstdint>

#include "kernels/rowwise.h"
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
};

// a, y: [rows, hidden]; y may be a. inner: [rows, rows of W1] and outer: [rows, hidden] are working
// memory.
void feed_forward_block(const FeedForwardWeights& weights, int64_t rows, const float* a, float* y,
                        float* inner, float* outer);

}  // namespace longformer
