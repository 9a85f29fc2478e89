// c[m, n] = a[m, k] · B, f32, for B packed at load, transposed or plain; on the calling thread
// alone. Layout: dense row-major. Any other row stride would make oneDNN fall to a slower
// implementation with other bits. Numerics: f32 products and sums in the library's order; a row's
// bits do not depend on m (products.cc says how). Cost: 2 m n k FLOP at 0.9 or more of the core's
// peak from 16 rows up; about 0.3 us a call; 0.1 to 0.3 ms for the first call with a shape.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

// The second operand: one of the two.
struct Weights {
  dnnl_memory_t packed = nullptr;
  const float* plain = nullptr;
};

// Fewer rows than a block: computed in scratch behind rows of zeros.
void run_padded(ThreadState& thread, BoundProduct& bound, const ProductKey& block, int64_t rows,
                const float* a, const Weights& weights, float* c) {
  const size_t a_bytes = sizeof(float) * static_cast<size_t>(block.m * block.k);
  const size_t c_bytes = sizeof(float) * static_cast<size_t>(block.m * block.n);
  const size_t a_used = sizeof(float) * static_cast<size_t>(rows * block.k);
  const size_t c_used = sizeof(float) * static_cast<size_t>(rows * block.n);
  auto* a_pad = static_cast<float*>(thread.padded_source.reserve(a_bytes));
  auto* c_pad = static_cast<float*>(thread.padded_destination.reserve(c_bytes));
  std::memcpy(a_pad, a, a_used);
  std::memset(a_pad + rows * block.k, 0, a_bytes - a_used);
  if (block.form == Form::kPlainAdd) {
    std::memcpy(c_pad, c, c_used);
    std::memset(c_pad + rows * block.n, 0, c_bytes - c_used);
  }
  thread.execute(bound, a_pad, weights.packed, weights.plain, c_pad);
  std::memcpy(c, c_pad, c_used);
}

void run_in_blocks(ThreadState& thread, const ProductKey& key, int64_t large, int64_t small,
                   const float* a, const Weights& weights, float* c) {
  for (int64_t row = 0; row < key.m;) {
    const int64_t left = key.m - row;
    ProductKey block = key;
    block.m = left >= large ? large : small;
    BoundProduct& bound = thread.find(block);
    const float* a_row = a + row * key.k;
    float* c_row = c + row * key.n;
    if (left >= block.m) {
      thread.execute(bound, a_row, weights.packed, weights.plain, c_row);
    } else {
      run_padded(thread, bound, block, left, a_row, weights, c_row);
    }
    row += std::min(left, block.m);
  }
}

void run(const ProductKey& key, const float* a, const Weights& weights, float* c) {
  if (key.m < 1 || key.n < 1 || key.k < 1) {
    throw Error(ErrorCode::kInternal, "a matrix product needs sizes of at least 1, got " +
                                          std::to_string(key.m) + " x " + std::to_string(key.n) +
                                          " x " + std::to_string(key.k));
  }
  ThreadState& thread = ThreadState::current();
  BoundProduct& bound = thread.find(key);
  const Product& product = *bound.product;
  if (product.any_rows) {
    thread.execute(bound, a, weights.packed, weights.plain, c);
  } else {
    run_in_blocks(thread, key, product.large_block, product.small_block, a, weights, c);
  }
}

std::string implementation(const ProductKey& key) {
  return ThreadState::current().find(key).product->implementation;
}

}  // namespace

struct PackedMatrix::Impl {
  dnnl::memory memory;
  size_t bytes = 0;
};

PackedMatrix PackedMatrix::pack(const float* weight, int64_t out_features, int64_t in_features) {
  if (out_features < 1 || in_features < 1) {
    throw Error(ErrorCode::kInternal, "a weight matrix needs sizes of at least 1, got " +
                                          std::to_string(out_features) + " x " +
                                          std::to_string(in_features));
  }
  ThreadState& thread = ThreadState::current();
  auto impl = std::make_shared<Impl>();
  onednn::guarded("packing a weight matrix", [&] {
    const dnnl::memory::desc layout = linear_weight_layout(out_features, in_features);
    const dnnl::memory::desc stored({in_features, out_features}, dnnl::memory::data_type::f32,
                                    dnnl::memory::dims{1, in_features});
    dnnl::memory source(stored, cpu_engine(), const_cast<float*>(weight));
    impl->memory = dnnl::memory(layout, cpu_engine());
    impl->bytes = layout.get_size();
    auto making = lock_creation();
    dnnl::reorder pack(source, impl->memory);
    making.unlock();
    pack.execute(thread.stream(), source, impl->memory);
    thread.stream().wait();
  });
  PackedMatrix packed;
  packed.out_features_ = out_features;
  packed.in_features_ = in_features;
  packed.impl_ = std::move(impl);
  return packed;
}

size_t PackedMatrix::bytes() const noexcept { return impl_ == nullptr ? 0 : impl_->bytes; }

void linear(const float* x, int64_t rows, const PackedMatrix& weight, float* y) {
  if (weight.impl_ == nullptr) {
    throw Error(ErrorCode::kInternal, "a linear layer was run before its weights were packed");
  }
  Weights weights;
  weights.packed = weight.impl_->memory.get();
  run({Form::kLinear, rows, weight.out_features_, weight.in_features_}, x, weights, y);
}

void matmul_nt(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  run({Form::kTransposed, m, n, k}, a, {nullptr, b}, c);
}

void matmul_nn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate) {
  run({accumulate == Accumulate::kYes ? Form::kPlainAdd : Form::kPlain, m, n, k}, a, {nullptr, b},
      c);
}

int64_t row_quantum() {
  const ProductKey key{Form::kLinear, 16, 768, 768};
  const auto& product = ThreadState::current().find(key).product;
  return product->any_rows ? 1 : product->small_block;
}

std::string linear_implementation(int64_t rows, int64_t out_features, int64_t in_features) {
  return implementation({Form::kLinear, rows, out_features, in_features});
}

std::string matmul_implementation(int64_t m, int64_t n, int64_t k, bool transposed_b) {
  return implementation({transposed_b ? Form::kTransposed : Form::kPlain, m, n, k});
}

std::string library_version() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace longformer::kernels
