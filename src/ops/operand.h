// Rows in the type that a linear layer reads them in.
#pragma once

#include <cstdint>

#include "kernels/operands.h"
#include "tensor/arena.h"

namespace longformer {

// Memory for [rows, cols] of one type, and the conversion into it. kF32 rows need none: they are
// read where they stand.
class Operand {
 public:
  // Bytes that the memory takes in an arena; 0 for kF32.
  static size_t bytes_for(int64_t rows, int64_t cols, DType type) noexcept;
  void take(Arena& arena, int64_t rows, int64_t cols, DType type);

  // x [count, cols] as rows [first, first + count) of the operand, and a view of them.
  kernels::Rows convert(int64_t first, int64_t count, const float* x) const noexcept;
  // The view of rows that stand there already; x is where f32 rows do.
  kernels::Rows rows(int64_t first, const float* x) const noexcept;
  // Where an epilogue writes rows from `first` on; f32 rows go to `x`.
  kernels::RowsBuffer buffer(int64_t first, float* x) const noexcept;

 private:
  DType type_ = DType::kF32;
  int64_t cols_ = 0;
  std::byte* data_ = nullptr;
  float* scales_ = nullptr;
  int32_t* zeros_ = nullptr;
};

}  // namespace longformer
