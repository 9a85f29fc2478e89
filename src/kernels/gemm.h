// Every matrix product of the project, over oneDNN, which gemm.cc, products.* and isa.cc alone see.
//
// Operands are dense and row-major. Each call runs on the calling thread alone and must come from a
// ThreadPool thread. The bits of an output row depend on that row of the first operand and on the
// second operand, never on how many rows there are, where the row stands, or which thread runs it
// (tests/kernels/gemm_rows_test.cc). Where the library's kernels do not give that, rows are
// computed in multiples of row_quantum() with the tail padded in scratch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/operands.h"

namespace longformer::kernels {

// A weight matrix packed once, at load, into the layout that the product wants.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // weight: [out_features, in_features], as checkpoints store linear layers. Call on a pool thread.
  // type: kF32; kBF16, rounded to nearest even; or kI8, rounded to the nearest multiple of a scale
  // for each output channel, its largest magnitude / 127 (1 for a channel of zeros).
  static PackedMatrix pack(const float* weight, int64_t out_features, int64_t in_features,
                           DType type = DType::kF32);
  // Weights that are s8 already, -127 … 127, with the scale of each output channel.
  static PackedMatrix pack(const int8_t* weight, const float* scales, int64_t out_features,
                           int64_t in_features);

  // For the way back through a layer: the packed transpose of weight [out_features, in_features],
  // so that linear() of rows [*, out_features] gives [*, in_features]. kF32 or kBF16.
  static PackedMatrix pack_transposed(const float* weight, int64_t out_features,
                                      int64_t in_features, DType type = DType::kF32);

  // A matrix without values, for what is planned before weights are there: linear() refuses it.
  static PackedMatrix planned(int64_t out_features, int64_t in_features, DType type);

  DType type() const noexcept { return type_; }
  // Of the rows that it is multiplied with: kF32, kBF16; kU8 for kI8.
  DType row_type() const noexcept { return type_ == DType::kI8 ? DType::kU8 : type_; }
  int64_t out_features() const noexcept { return out_features_; }
  int64_t in_features() const noexcept { return in_features_; }
  size_t bytes() const noexcept;

 private:
  friend struct LinearAccess;
  struct Impl;
  PackedMatrix(DType type, int64_t out_features, int64_t in_features,
               std::shared_ptr<const Impl> impl);
  DType type_ = DType::kF32;
  int64_t out_features_ = 0;
  int64_t in_features_ = 0;
  std::shared_ptr<const Impl> impl_;
};

// What pack() makes of f32 weights under kI8: values[out_features, in_features], each with the
// scale of its channel. A channel with a value that is not finite: scale NaN, so that what comes of
// it is NaN.
void quantize_weights(const float* weight, int64_t out_features, int64_t in_features,
                      int8_t* values, float* scales);

// Whether products of this type run at speed here: kF32 always; kBF16 with AVX512-BF16, kI8 with
// AVX512-VNNI, both within LONGFORMER_ISA. pack() and linear() refuse (kInternal) what is not.
bool supports(DType weight_type);

// A range of output columns; count 0: to the end.
struct Columns {
  int64_t first = 0;
  int64_t count = 0;
};
// Ranges begin at multiples of this, and their counts are multiples of it or reach the end. A
// column's bits do not depend on the range.
inline constexpr int64_t kColumnQuantum = 64;
// Whether a range costs its share of the whole (AVX-512); elsewhere it costs as much as the whole.
bool splits_columns();

// sums[rows, columns.count] = x[rows, in] · Wᵀ[in, columns], dense: f32, or s32 under kI8 (four
// bytes an element both). x.type must be weight.row_type(). No bias: the epilogues add it. The
// result's stride is the number of columns. rows >= 1.
Products linear(const Rows& x, int64_t rows, const PackedMatrix& weight, void* sums,
                Columns columns = {});
// The same for f32 rows and weights.
void linear(const float* x, int64_t rows, const PackedMatrix& weight, float* y);

// c[m, n] = a[m, k] · b[n, k]ᵀ      (queries · keysᵀ)
void matmul_nt(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
// c[m, n] = a[m, k] · b[k, n], or c += … when accumulate is kYes      (probabilities · values)
enum class Accumulate { kNo, kYes };
void matmul_nn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate = Accumulate::kNo);
// The same with bf16 operands and f32 sums; where supports(kBF16).
void matmul_nt(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c);
void matmul_nn(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c,
               Accumulate accumulate = Accumulate::kNo);

// c[m, n] = a[k, m]ᵀ · b[k, n], or c += …      (derivatives by keys, values and weights). The bits
// of an element depend on k and on its own column of a and of b, not on m and n (below AVX-512 on n
// too).
void matmul_tn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate = Accumulate::kNo);
void matmul_tn(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c,
               Accumulate accumulate = Accumulate::kNo);

// Rows are computed in multiples of this (1 on AVX-512, 16 below), padded inside where the caller
// has fewer.
int64_t row_quantum();
// oneDNN's name of the implementation chosen for y[rows, out] = x[rows, in]·Wᵀ, e.g.
// "brg:avx512_core"; for tests.
std::string linear_implementation(int64_t rows, int64_t out_features, int64_t in_features,
                                  DType weight_type = DType::kF32);
std::string matmul_implementation(int64_t m, int64_t n, int64_t k, bool transposed_b,
                                  DType type = DType::kF32);
std::string matmul_tn_implementation(int64_t m, int64_t n, int64_t k, DType type = DType::kF32);
std::string library_version();  // "oneDNN 2.6.3"

}  // namespace longformer::kernels
