// What goes into a linear layer and what comes out of it, in the three precisions:
//   rows    weights  products     who rounds
//   f32     f32      f32          nobody
//   bf16    bf16     f32          to_rows(), PackedMatrix::pack(): to nearest even
//   u8      s8       s32, exact   rows: scale and zero point a row; weights: scale a column
// Epilogues (rowwise.h) read Products, so that one epilogue serves all three. Views only: nothing
// here owns memory. A row's numbers depend on that row alone.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace longformer::kernels {

// The left operand [rows, cols], dense. Of type kF32, kBF16 or kU8; then an element stands for
// (u8 - zeros[r]) * scales[r].
struct Rows {
  DType type = DType::kF32;
  const void* data = nullptr;
  const float* scales = nullptr;
  const int32_t* zeros = nullptr;
};

// Where rows are written. Element (r, c) stands at r * stride + c; kU8 needs stride == cols.
struct RowsBuffer {
  DType type = DType::kF32;
  void* data = nullptr;
  int64_t stride = 0;
  float* scales = nullptr;   // kU8
  int32_t* zeros = nullptr;  // kU8
  operator Rows() const noexcept { return {type, data, scales, zeros}; }
};

// What a product leaves, element (r, c) at r * stride + c: f32 sums, or s32 sums that stand for
//   (s32 - row_zeros[r] * column_sums[c]) * (row_scales[r] * column_scales[c])
// where column_sums[c] is the sum of the s8 weights of column c. Exactly one of f32, s32 is set.
// |s32 - zero * sum| stays below 2^31 for in_features <= kMaxInt8Features.
struct Products {
  int64_t stride = 0;
  const float* f32 = nullptr;
  const int32_t* s32 = nullptr;
  const float* row_scales = nullptr;
  const int32_t* row_zeros = nullptr;
  const float* column_scales = nullptr;
  const int32_t* column_sums = nullptr;
  // The same rows from column `first` on.
  Products columns(int64_t first) const noexcept {
    Products part = *this;
    if (part.f32 != nullptr) part.f32 += first;
    if (part.s32 != nullptr) {
      part.s32 += first;
      part.column_scales += first;
      part.column_sums += first;
    }
    return part;
  }
};

inline constexpr int64_t kMaxInt8Features = 65536;  // 255 * 128 * 65,536 < 2^31

}  // namespace longformer::kernels
