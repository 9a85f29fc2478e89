#include "ops/weights.h"

#include <bit>

namespace longformer {

namespace {

// Rows [first, first + count) of a tensor [rows, cols].
Tensor rows_of(const Tensor& tensor, int64_t first, int64_t count) {
  Tensor rows = tensor;
  rows.shape = {count, tensor.shape[1]};
  rows.offset += static_cast<size_t>(first * tensor.shape[1]) * dtype_size(tensor.dtype);
  return rows;
}

}  // namespace

Matrix::Matrix(Tensor tensor, std::vector<float> scales)
    : tensor_(std::move(tensor)), scales_(std::move(scales)) {}

const float* Matrix::read(int64_t first, int64_t count, std::vector<float>& buffer) const {
  const Tensor rows = rows_of(tensor_, first, count);
  const std::byte* const bytes = rows.bytes().data();
  if (rows.dtype == DType::kF32 && std::bit_cast<uintptr_t>(bytes) % alignof(float) == 0) {
    return reinterpret_cast<const float*>(bytes);
  }
  buffer.resize(static_cast<size_t>(count * cols()));
  if (rows.dtype != DType::kI8) {
    to_f32(rows, buffer);
    return buffer.data();
  }
  const int8_t* from = int8_row(first);
  float* to = buffer.data();
  for (int64_t r = 0; r < count; ++r) {
    const float scale = scales_[static_cast<size_t>(first + r)];
    for (int64_t c = 0; c < cols(); ++c) *to++ = static_cast<float>(*from++) * scale;
  }
  return buffer.data();
}

const int8_t* Matrix::int8_row(int64_t first) const {
  return reinterpret_cast<const int8_t*>(tensor_.bytes().data()) + first * cols();
}

EmbeddingTable::EmbeddingTable(Tensor table) : table_(std::move(table)) {}

void EmbeddingTable::read(int64_t index, float* buffer) const {
  to_f32(rows_of(table_, index, 1), std::span<float>(buffer, static_cast<size_t>(cols())));
}

void PositionTable::read(int64_t index, float* buffer) const {
  const int64_t k = index - reserved_;
  const int64_t body = table_.rows() - reserved_;
  if (reading_ == Reading::kAsStored || k < 0) return table_.read(index, buffer);
  if (reading_ == Reading::kRepeat) return table_.read(reserved_ + k % body, buffer);
  // In whole numbers up to the fraction: k (P - 1) stays below 2^42.
  const int64_t scaled = k * (body - 1);
  const int64_t low = scaled / (positions_ - 1);
  const int64_t rest = scaled % (positions_ - 1);
  table_.read(reserved_ + low, buffer);
  if (rest == 0) return;
  std::vector<float> next(static_cast<size_t>(table_.cols()));
  table_.read(reserved_ + low + 1, next.data());
  const double share = static_cast<double>(rest) / static_cast<double>(positions_ - 1);
  for (size_t c = 0; c < next.size(); ++c) {
    buffer[c] = static_cast<float>((1.0 - share) * double{buffer[c]} + share * double{next[c]});
  }
}

}  // namespace longformer
