// The end of both halves of a layer: what a linear layer makes of some rows, added to the rows x
// that went into the half.
//   post-norm  y = LayerNorm(x + (W · input + b))
//   pre-norm   y = x + (W · input + b)
// x and y [rows, out_features], dense; y may be x.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"
#include "kernels/gemm.h"
#include "ops/weights.h"

namespace longformer {

// sums: working memory [rows, out_features].
void add_linear(const Linear& linear, const LayerNorm& norm, NormPlacement placement, int64_t rows,
                const kernels::Rows& input, const float* x, float* y, float* sums);

// What training does besides: dropout of what the linear layer gives, and keeping x + that, the
// rows in front of the norm.
struct ResidualRecord {
  kernels::DropoutRule rule;
  const uint64_t* row_keys = nullptr;  // [rows], where the rule drops
  float* kept = nullptr;               // [rows, out_features]; null: not kept (pre-norm: it is y)
};
// Without dropout, the bits of add_linear(). f32 or bf16 weights.
void add_linear(const Linear& linear, const LayerNorm& norm, NormPlacement placement, int64_t rows,
                const kernels::Rows& input, const float* x, float* y, float* sums,
                const ResidualRecord& record);

// Some columns of y, in post-norm layers before they normalise. sums: [rows, columns].
void add_linear_columns(const Linear& linear, int64_t rows, const kernels::Rows& input,
                        kernels::Columns columns, const float* x, float* y, float* sums);

}  // namespace longformer
