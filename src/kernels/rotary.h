// The angles of rotary positions; split_heads() of rowwise.h turns queries and keys by them.
#pragma once

#include <cstdint>

namespace longformer::kernels {

// The cosines and sines of `rows` angles a row of `half` channel pairs:
//   angle = position * frequency in f32; its cosine and sine in f64, rounded to f32.
// frequencies: [half]; cosines, sines: [rows, half].
void rotary_angles(int64_t rows, int64_t half, const int64_t* positions, const float* frequencies,
                   float* cosines, float* sines) noexcept;

}  // namespace longformer::kernels
