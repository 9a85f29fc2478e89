// The cache of oneDNN matrix products behind gemm.h: one primitive a shape, shared by all threads,
// and on each thread the same primitive bound to memory objects, so that a call costs a look-up and
// three pointer updates.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/onednn.h"
#include "tensor/dtype.h"

namespace longformer::kernels {

enum class Form : int32_t {
  kLinear,      // second operand packed: the layout of linear_weight_layout()
  kTransposed,  // second operand [n, k]
  kPlain,       // second operand [k, n]
  kPlainAdd,    // the same, added to the destination
  kOuter,       // first operand [k, m], second [k, n]
  kOuterAdd,    // the same, added to the destination
};

// type, of the second operand: kF32 (f32 · f32 -> f32), kBF16 (bf16 · bf16 -> f32) or kI8
// (u8 · s8 -> s32). Every destination has four bytes an element.
struct ProductKey {
  Form form;
  DType type;
  int64_t m, n, k;
  bool operator==(const ProductKey&) const = default;
};

const char* type_name(DType weight_type) noexcept;  // "f32", "bf16", "int8"

struct ProductKeyHash {
  size_t operator()(const ProductKey& key) const noexcept;
};

// One shape. Either any_rows, and primitive computes all m rows; or the implementation gives a row
// different bits for different m, primitive is empty, and the rows are computed in blocks of
// exactly large_block and small_block rows.
struct Product {
  bool any_rows = false;
  int64_t large_block = 0;
  int64_t small_block = 0;
  const char* implementation = "";  // never freed
  dnnl::matmul primitive;
  dnnl::memory::desc source, weights, destination, scratchpad;
  onednn::Layout weight_layout;
};

// A product with the memory objects of one thread.
struct BoundProduct {
  std::shared_ptr<const Product> product;
  dnnl::memory source, weights, destination, scratchpad;
  std::array<dnnl_exec_arg_t, 4> arguments;
  int argument_count = 0;
  size_t scratch_bytes = 0;
  const void* scratch = nullptr;  // what the scratchpad object points to now
};

// 64-byte aligned memory that grows.
class Scratch {
 public:
  void* reserve(size_t bytes);

 private:
  struct Free {
    void operator()(void* pointer) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_ = 0;
};

// What a thread needs to run products. Making it sets the thread's OpenMP width to 1: the pool is
// the only source of parallelism, and oneDNN looks at the width when it creates a primitive as well
// as when it runs one.
class ThreadState {
 public:
  static ThreadState& current();

  // The reference is valid until the next call.
  BoundProduct& find(const ProductKey& key);
  void execute(BoundProduct& bound, const void* source, const void* weights, void* destination);
  dnnl::stream& stream() noexcept { return stream_; }

  Scratch padded_source, padded_destination, all_columns, transposed_source;

 private:
  ThreadState();
  dnnl::stream stream_;
  Scratch scratch_;
  uint64_t generation_ = 0;
  std::unordered_map<ProductKey, BoundProduct, ProductKeyHash> bound_;
};

const dnnl::engine& cpu_engine();
// Held while a primitive or its description is made: one thread makes what several want.
std::unique_lock<std::mutex> lock_creation();
// The layout that every kLinear product with these sizes reads: what the library picks itself for
// 128 rows.
dnnl::memory::desc linear_weight_layout(DType type, int64_t out_features, int64_t in_features);
// Shared by all threads; made on first use. At most kMaxCachedProducts are kept: beyond that all
// are dropped.
std::shared_ptr<const Product> find_product(const ProductKey& key);
inline constexpr size_t kMaxCachedProducts = 2000;
size_t cached_products();  // for tests

}  // namespace longformer::kernels
