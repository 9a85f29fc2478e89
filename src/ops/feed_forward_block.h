// The feed-forward half of a post-norm encoder layer, for a few rows at a time:
//   y = LayerNorm(a + W2 · act(W1 · a + b1) + b2)
// The [rows, intermediate] tensor exists for one tile only.
#pragma once

#include <cstdint>

#include "kernels/rowwise.h"
#include "ops/weights.h"

namespace longformer {

struct FeedForwardWeights {
  Linear inner;  // [intermediate, hidden]
  Linear outer;  // [hidden, intermediate]
  LayerNorm norm;
  kernels::Activation activation = kernels::Activation::kGelu;
};

// a, y: [rows, hidden]; y may be a. inner: [rows, intermediate] and outer: [rows, hidden] are
// working memory.
void feed_forward_block(const FeedForwardWeights& weights, int64_t rows, const float* a, float* y,
                        float* inner, float* outer);

}  // namespace longformer
