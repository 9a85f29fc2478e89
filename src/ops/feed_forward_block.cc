#include "ops/feed_forward_block.h"

namespace longformer {

void feed_forward_block(const FeedForwardWeights& weights, int64_t rows, const float* a, float* y,
                        float* inner, float* outer) {
  const int64_t intermediate = weights.inner.weight.out_features();
  const int64_t hidden = weights.outer.weight.out_features();
  kernels::linear(a, rows, weights.inner.weight, inner);
  kernels::bias_activation(rows, intermediate, weights.activation, weights.inner.bias.data(),
                           inner);
  kernels::linear(inner, rows, weights.outer.weight, outer);
  kernels::bias_residual_layer_norm(rows, hidden, outer, weights.outer.bias.data(), a,
                                    weights.norm.gamma.data(), weights.norm.beta.data(),
                                    weights.norm.eps, y);
}

}  // namespace longformer
