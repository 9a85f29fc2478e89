#include "ops/weights.h"

#include <bit>

namespace longformer {

Matrix::Matrix(const Tensor& tensor) {
  const std::byte* bytes = tensor.bytes().data();
  if (tensor.dtype == DType::kF32 && std::bit_cast<uintptr_t>(bytes) % alignof(float) == 0) {
    data_ = reinterpret_cast<const float*>(bytes);
    storage_ = tensor.storage;
  } else {
    copy_ = std::make_shared<const std::vector<float>>(to_f32(tensor));
    data_ = copy_->data();
  }
}

EmbeddingTable::EmbeddingTable(Tensor table) : table_(std::move(table)) {}

void EmbeddingTable::read(int64_t index, float* buffer) const {
  const int64_t cols = table_.shape[1];
  Tensor row = table_;
  row.shape = {cols};
  row.offset += static_cast<size_t>(index * cols) * dtype_size(table_.dtype);
  to_f32(row, std::span<float>(buffer, static_cast<size_t>(cols)));
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
