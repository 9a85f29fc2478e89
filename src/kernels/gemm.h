// Every matrix product of the project, over oneDNN, which gemm.cc, products.* and isa.cc alone see.
//
// Operands are dense and row-major. Each call runs on the calling thread alone and must come from a
// ThreadPool thread. The bits of an output row depend on that row of the first operand and on the
// second operand, never on how many rows there are, where the row stands, or which thread runs it
// (tests/kernels/gemm_test.cc). Where the library's kernels do not give that, rows are computed in
// multiples of row_quantum() with the tail padded in scratch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace longformer::kernels {

// A weight matrix packed once, at load, into the layout that the product wants.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // weight: [out_features, in_features], as checkpoints store linear layers. Call on a pool thread.
  static PackedMatrix pack(const float* weight, int64_t out_features, int64_t in_features);

  int64_t out_features() const noexcept { return out_features_; }
  int64_t in_features() const noexcept { return in_features_; }
  size_t bytes() const noexcept;

 private:
  friend void linear(const float*, int64_t, const PackedMatrix&, float*);
  int64_t out_features_ = 0;
  int64_t in_features_ = 0;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// y[rows, out] = x[rows, in] · Wᵀ. No bias: the row-wise epilogues add it. rows >= 1.
void linear(const float* x, int64_t rows, const PackedMatrix& weight, float* y);

// c[m, n] = a[m, k] · b[n, k]ᵀ      (queries · keysᵀ)
void matmul_nt(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
// c[m, n] = a[m, k] · b[k, n], or c += … when accumulate is kYes      (probabilities · values)
enum class Accumulate { kNo, kYes };
void matmul_nn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate = Accumulate::kNo);

// Rows are computed in multiples of this (1 on AVX-512, 16 below), padded inside where the caller
// has fewer.
int64_t row_quantum();
// oneDNN's name of the implementation chosen for y[rows, out] = x[rows, in]·Wᵀ, e.g.
// "brg:avx512_core"; for tests.
std::string linear_implementation(int64_t rows, int64_t out_features, int64_t in_features);
std::string matmul_implementation(int64_t m, int64_t n, int64_t k, bool transposed_b);
std::string library_version();  // "oneDNN 2.6.3"

}  // namespace longformer::kernels
