// Derivatives of the row-wise kernels (rowwise.h), under its rules. d_NAME is the derivative of the
// loss by NAME; what is "added to" sums over rows in their order, so callers who want bits that do
// not depend on threads give fixed ranges of rows.
#pragma once

#include <cstdint>

#include "kernels/operands.h"
#include "kernels/rowwise.h"

namespace longformer::kernels {

// Of y = LayerNorm(x) * gamma + beta; x is what went in. With m = xhat = (x - mean) / sigma and
// g = d_y * gamma:  d_x = (g - mean(g) - xhat * mean(g * xhat)) / sigma. d_x may be d_y. d_gamma,
// d_beta [cols] are added to; null: not wanted.
void layer_norm_backward(int64_t rows, int64_t cols, const float* x, const float* gamma, float eps,
                         const float* d_y, float* d_x, float* d_gamma, float* d_beta) noexcept;

// Of y = act(a), a = x + bias: y again, for the product behind it, and d_a = d_y * act'(a), each
// in the type of its buffer (kF32, kBF16). Under kF32, y.data may be x and d_a.data may be d_y.
void activation_backward(int64_t rows, int64_t cols, Activation activation, const float* x,
                         const float* bias, const float* d_y, const RowsBuffer& y,
                         const RowsBuffer& d_a) noexcept;

// Of y = act(a) * g, a = x + bias, g = gate + gate_bias, where x and gate are the halves of one
// product [rows, 2 cols]: y, and d_a and d_g likewise as the halves of d_both. d_both.data must not
// be d_y.
void gated_activation_backward(int64_t rows, int64_t cols, Activation activation, const float* both,
                               const float* both_bias, const float* d_y, const RowsBuffer& y,
                               const RowsBuffer& d_both) noexcept;

// sums[c] += x[0, c] + x[1, c] + …, x dense of type kF32 or kBF16.
void add_column_sums(int64_t rows, int64_t cols, const Rows& x, float* sums) noexcept;

// y[i] += x[i]
void add(int64_t count, const float* x, float* y) noexcept;

// The way back of split_heads() (rowwise.h), for derivatives: for each row r and head h of
// split.heads, with o = (h - first_head) * head_dim:
//   x[r * stride + o + c] = turned back(out[(h * plane_rows + destination[r] - first_destination) *
//   head_dim + c]) * scale, or zeros where keep[r] == 0.
// split.bias is not read.
void merge_heads(int64_t rows, const float* out, const HeadSplit& split, float* x,
                 int64_t stride) noexcept;

// The strip of a backward pass, for logsumexp[r] of whole rows and delta[r] = Σ d_out · out:
//   p = exp(score - logsumexp[r]) inside [begin[r], end[r]), else 0; 0 where score or logsumexp is
//   -infinity
//   scores becomes p, d_p becomes p * (d_p - delta[r]).
// With dropout, d_p is expected as d_out · v with dropout applied to it already, and the caller
// applies it to p for d_v.
void softmax_strip_backward(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                            const float* logsumexp, const float* delta, float* scores,
                            float* d_p) noexcept;

}  // namespace longformer::kernels
