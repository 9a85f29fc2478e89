#include "ops/operand.h"

#include "kernels/rowwise.h"

namespace longformer {

size_t Operand::bytes_for(int64_t rows, int64_t cols, DType type) noexcept {
  if (type == DType::kF32) return 0;
  const size_t data = Arena::bytes_for(rows * cols, dtype_size(type));
  return type == DType::kU8 ? data + 2 * Arena::bytes_for(rows) : data;
}

void Operand::take(Arena& arena, int64_t rows, int64_t cols, DType type) {
  type_ = type;
  cols_ = cols;
  if (type == DType::kF32) return;
  data_ = arena.take<std::byte>(rows * cols * static_cast<int64_t>(dtype_size(type)));
  if (type != DType::kU8) return;
  scales_ = arena.take<float>(rows);
  zeros_ = arena.take<int32_t>(rows);
}

kernels::RowsBuffer Operand::buffer(int64_t first, float* x) const noexcept {
  if (type_ == DType::kF32) return {type_, x, cols_, nullptr, nullptr};
  std::byte* data = data_ + first * cols_ * static_cast<int64_t>(dtype_size(type_));
  if (type_ != DType::kU8) return {type_, data, cols_, nullptr, nullptr};
  return {type_, data, cols_, scales_ + first, zeros_ + first};
}

kernels::Rows Operand::rows(int64_t first, const float* x) const noexcept {
  if (type_ == DType::kF32) return {type_, x, nullptr, nullptr};
  return buffer(first, nullptr);
}

kernels::Rows Operand::convert(int64_t first, int64_t count, const float* x) const noexcept {
  if (type_ == DType::kF32) return rows(first, x);
  const kernels::RowsBuffer out = buffer(first, nullptr);
  kernels::to_rows(count, cols_, x, out);
  return out;
}

}  // namespace longformer
