#include "ops/feed_forward_block.h"

namespace longformer {
namespace {

// What the first product reads: a, or its norm, which lies in `buffer` until the second product
// writes there.
const float* normalized_input(const FeedForwardWeights& weights, int64_t rows, int64_t hidden,
                              const float* a, float* buffer) {
  if (weights.placement == NormPlacement::kPost || weights.norm.empty()) return a;
  kernels::layer_norm(rows, hidden, a, weights.norm.gamma.data(), weights.norm.beta.data(),
                      weights.norm.eps, buffer);
  return buffer;
}

}  // namespace

void feed_forward_block(const FeedForwardWeights& weights, int64_t rows, const float* a, float* y,
                        float* inner, float* outer) {
  const int64_t hidden = weights.outer.weight.out_features();
  const int64_t intermediate = weights.outer.weight.in_features();
  kernels::linear(normalized_input(weights, rows, hidden, a, outer), rows, weights.inner.weight,
                  inner);
  if (weights.kind == FeedForwardKind::kGated) {
    kernels::gated_activation(rows, intermediate, weights.activation, weights.inner.bias.data(),
                              inner, inner);
  } else {
    kernels::bias_activation(rows, intermediate, weights.activation, weights.inner.bias.data(),
                             inner);
  }
  kernels::linear(inner, rows, weights.outer.weight, outer);
  if (weights.placement == NormPlacement::kPre) {
    kernels::bias_residual(rows, hidden, outer, weights.outer.bias.data(), a, y);
  } else {
    kernels::bias_residual_layer_norm(rows, hidden, outer, weights.outer.bias.data(), a,
                                      weights.norm.gamma.data(), weights.norm.beta.data(),
                                      weights.norm.eps, y);
  }
}

}  // namespace longformer
