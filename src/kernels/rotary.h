// Rotary positions, in the epilogue that splits a projection into heads: the rows of queries and
// keys are turned while the product's output is still in the cache. Row-wise like rowwise.h, and
// under the same promise about bits.
#pragma once

#include <cstdint>

namespace longformer::kernels {

// The cosines and sines of `rows` angles a row of `half` channel pairs:
//   angle = position * frequency in f32; its cosine and sine in f64, rounded to f32.
// frequencies: [half]; cosines, sines: [rows, half].
void rotary_angles(int64_t rows, int64_t half, const int64_t* positions, const float* frequencies,
                   float* cosines, float* sines) noexcept;

// split_heads() of rowwise.h with each head's channels c and c + head_dim / 2 turned by the row's
// angle of pair c. With a, b = (x + bias) * scale of the two channels:
//   out[c] = a cos - b sin,  out[c + head_dim / 2] = b cos + a sin
// cosines, sines: [rows, head_dim / 2]. head_dim is even.
void split_heads_rotary(int64_t rows, int64_t heads, int64_t head_dim, const int32_t* head_list,
                        int64_t head_count, const float* x, const float* bias, float scale,
                        const uint8_t* keep, const int32_t* destination, int64_t plane_rows,
                        const float* cosines, const float* sines, float* out) noexcept;

}  // namespace longformer::kernels
