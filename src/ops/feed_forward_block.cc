#include "ops/feed_forward_block.h"

namespace longformer {

const float* feed_forward_input(const FeedForwardWeights& weights, int64_t rows, int64_t hidden,
                                const float* a, float* buffer) {
  if (weights.placement == NormPlacement::kPost || weights.norm.empty()) return a;
  kernels::layer_norm(rows, hidden, a, weights.norm.gamma.data(), weights.norm.beta.data(),
                      weights.norm.eps, buffer);
  return buffer;
}

void feed_forward_inner(const FeedForwardWeights& weights, int64_t rows, const kernels::Rows& input,
                        kernels::Columns columns, const kernels::RowsBuffer& inner, float* sums) {
  const kernels::PackedMatrix& matrix = weights.inner.weight;
  const float* bias = weights.inner.bias.data() + columns.first;
  const int64_t intermediate = weights.intermediate();
  if (weights.kind == FeedForwardKind::kPlain) {
    const kernels::Products products = kernels::linear(input, rows, matrix, sums, columns);
    return kernels::bias_activation(rows, columns.count, weights.activation, products, bias, inner);
  }
  kernels::Products products;
  kernels::Products gate;
  if (columns.count == intermediate) {  // both halves in one product
    products = kernels::linear(input, rows, matrix, sums);
    gate = products.columns(intermediate);
  } else {
    products = kernels::linear(input, rows, matrix, sums, columns);
    gate = kernels::linear(input, rows, matrix, sums + rows * columns.count,
                           {intermediate + columns.first, columns.count});
  }
  kernels::gated_activation(rows, columns.count, weights.activation, products, bias, gate,
                            bias + intermediate, inner);
}

}  // namespace longformer
