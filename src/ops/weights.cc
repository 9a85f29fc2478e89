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

}  // namespace longformer
