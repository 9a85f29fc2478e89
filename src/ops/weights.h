// The weights that operations take. Plain owners, filled by models/.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm.h"
#include "tensor/tensor.h"

namespace longformer {

// y = x Wᵀ + b, packed for products with many rows.
struct Linear {
  kernels::PackedMatrix weight;
  std::vector<float> bias;  // [out_features]
};

// A matrix [rows, cols] as stored, for products with few rows: a view of the checkpoint's mapping
// where that holds aligned f32, else a copy.
class Matrix {
 public:
  Matrix() = default;
  explicit Matrix(const Tensor& tensor);
  const float* data() const noexcept { return data_; }
  bool empty() const noexcept { return data_ == nullptr; }

 private:
  const float* data_ = nullptr;
  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const std::vector<float>> copy_;
};

struct LayerNorm {
  std::vector<float> gamma;
  std::vector<float> beta;
  float eps = 1e-12f;
};

// A table whose rows are read on demand, in the type of its file; only the pages of rows that are
// used are ever loaded.
class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  explicit EmbeddingTable(Tensor table);  // [rows, cols], floating
  int64_t rows() const { return table_.shape.empty() ? 0 : table_.shape[0]; }
  // Row `index` widened into `buffer` [cols]. 0 <= index < rows().
  void read(int64_t index, float* buffer) const;

 private:
  Tensor table_;
};

}  // namespace longformer
