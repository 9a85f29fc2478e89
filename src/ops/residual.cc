#include "ops/residual.h"

#include <algorithm>

#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"

namespace longformer {

void add_linear(const Linear& linear, const LayerNorm& norm, NormPlacement placement, int64_t rows,
                const kernels::Rows& input, const float* x, float* y, float* sums) {
  const int64_t hidden = linear.weight.out_features();
  if (placement == NormPlacement::kPre) {
    return add_linear_columns(linear, rows, input, {0, hidden}, x, y, sums);
  }
  const kernels::Products products = kernels::linear(input, rows, linear.weight, sums);
  kernels::bias_residual_layer_norm(rows, hidden, products, linear.bias.data(), x,
                                    norm.gamma.data(), norm.beta.data(), norm.eps, y);
}

void add_linear(const Linear& linear, const LayerNorm& norm, NormPlacement placement, int64_t rows,
                const kernels::Rows& input, const float* x, float* y, float* sums,
                const ResidualRecord& record) {
  const int64_t hidden = linear.weight.out_features();
  kernels::linear(input, rows, linear.weight, sums);
  for (int64_t r = 0; r < rows; ++r) kernels::add(hidden, linear.bias.data(), sums + r * hidden);
  if (record.rule.drops()) {
    kernels::dropout_rows(rows, hidden, record.rule, record.row_keys, 0, 1, sums, hidden);
  }
  kernels::add(rows * hidden, x, sums);
  if (record.kept != nullptr) std::copy_n(sums, rows * hidden, record.kept);
  if (placement == NormPlacement::kPre) {
    std::copy_n(sums, rows * hidden, y);
  } else {
    kernels::layer_norm(rows, hidden, sums, norm.gamma.data(), norm.beta.data(), norm.eps, y);
  }
}

void add_linear_columns(const Linear& linear, int64_t rows, const kernels::Rows& input,
                        kernels::Columns columns, const float* x, float* y, float* sums) {
  const int64_t hidden = linear.weight.out_features();
  const kernels::Products products = kernels::linear(input, rows, linear.weight, sums, columns);
  kernels::bias_residual(rows, columns.count, products, linear.bias.data() + columns.first,
                         x + columns.first, hidden, y + columns.first);
}

}  // namespace longformer
