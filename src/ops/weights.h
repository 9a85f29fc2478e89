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
  std::vector<float> bias;  // [out_features], zeros where the checkpoint has none
};

// A matrix [rows, cols] as stored, for products with few rows: floating point, or int8 with a scale
// a row. No copy is kept of a checkpoint's mapping; rows are widened when they are read.
class Matrix {
 public:
  Matrix() = default;
  // scales: [rows] for I8, else empty.
  explicit Matrix(Tensor tensor, std::vector<float> scales = {});
  bool empty() const noexcept { return tensor_.shape.empty(); }
  DType type() const noexcept { return tensor_.dtype; }
  const Tensor& tensor() const noexcept { return tensor_; }
  const std::vector<float>& scales() const noexcept { return scales_; }
  int64_t rows() const noexcept { return empty() ? 0 : tensor_.shape[0]; }
  int64_t cols() const noexcept { return empty() ? 0 : tensor_.shape[1]; }
  // Rows [first, first + count): in place where aligned f32 is stored, else widened into `buffer`.
  const float* read(int64_t first, int64_t count, std::vector<float>& buffer) const;
  // Of type I8: row `first`; the rows behind follow.
  const int8_t* int8_row(int64_t first) const;

 private:
  Tensor tensor_;
  std::vector<float> scales_;
};

// An absent one (a pre-norm layer behind a norm that has already been applied) is the identity.
struct LayerNorm {
  std::vector<float> gamma;
  std::vector<float> beta;  // zeros where the checkpoint has none
  float eps = 1e-12f;
  bool empty() const noexcept { return gamma.empty(); }
};

// Where the two halves of a layer normalise.
enum class NormPlacement {
  kPost,  // y = LayerNorm(x + f(x))
  kPre,   // y = x + f(LayerNorm(x))
};

// A table whose rows are read on demand, in the type of its file; only the pages of rows that are
// used are ever loaded.
class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  explicit EmbeddingTable(Tensor table);  // [rows, cols], floating
  int64_t rows() const { return table_.shape.empty() ? 0 : table_.shape[0]; }
  int64_t cols() const { return table_.shape.empty() ? 0 : table_.shape[1]; }
  // Row `index` widened into `buffer` [cols]. 0 <= index < rows().
  void read(int64_t index, float* buffer) const;

 private:
  Tensor table_;
};

// A position table that may serve more positions than it has rows. The first `reserved` rows stay;
// the P rows behind them, the body, serve N positions. With k = index - reserved, 0 <= k < N:
//   kAsStored     body[k], k < P
//   kRepeat       body[k mod P]
//   kInterpolate  t = k (P - 1) / (N - 1); between body[floor t] and the next row, linearly, so
//   that
//                 position 0 reads the first row and position N - 1 the last one. N > 1.
class PositionTable {
 public:
  enum class Reading { kAsStored, kRepeat, kInterpolate };
  PositionTable() = default;
  explicit PositionTable(EmbeddingTable table) : table_(std::move(table)) {}
  PositionTable(EmbeddingTable table, Reading reading, int64_t reserved, int64_t positions)
      : table_(std::move(table)), reading_(reading), reserved_(reserved), positions_(positions) {}
  bool empty() const { return table_.rows() == 0; }
  void read(int64_t index, float* buffer) const;  // buffer: [cols]

 private:
  EmbeddingTable table_;
  Reading reading_ = Reading::kAsStored;
  int64_t reserved_ = 0;
  int64_t positions_ = 0;  // N
};

}  // namespace longformer
