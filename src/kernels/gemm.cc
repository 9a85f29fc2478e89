// c[m, n] = a[m, k] · B in f32, bf16 or u8 · s8, for B packed at load, transposed or plain, and
// a[k, m]ᵀ · b[k, n]; on the calling thread alone. Layout: dense row-major. Any other row stride
// would make oneDNN fall to a slower implementation with other bits. Numerics: f32 products and
// sums in the library's order (s32 sums, exact, under kI8); a row's bits do not depend on m
// (products.cc says how), a column's not on the range. Cost: 2 m n k FLOP at 0.9 or more of the
// core's peak from 16 rows up; about 0.3 us a call; 0.1 to 0.3 ms for the first call with a shape.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/profile.h"
#include "kernels/gemm_pack.h"
#include "kernels/isa.h"
#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

constexpr size_t kResultSize = 4;  // f32 or s32

DType row_type(DType weight_type) { return weight_type == DType::kI8 ? DType::kU8 : weight_type; }

size_t row_bytes(const ProductKey& key) {
  return dtype_size(row_type(key.type)) * static_cast<size_t>(key.k);
}

size_t result_row_bytes(const ProductKey& key) { return kResultSize * static_cast<size_t>(key.n); }

// Fewer rows than a block: computed in scratch before rows of zeros.
void run_padded(ThreadState& thread, BoundProduct& bound, const ProductKey& block, int64_t rows,
                const std::byte* a, const void* weights, std::byte* c) {
  const auto whole = static_cast<size_t>(block.m);
  const auto used = static_cast<size_t>(rows);
  const size_t a_row = row_bytes(block);
  const size_t c_row = result_row_bytes(block);
  auto* a_pad = static_cast<std::byte*>(thread.padded_source.reserve(whole * a_row));
  auto* c_pad = static_cast<std::byte*>(thread.padded_destination.reserve(whole * c_row));
  std::memcpy(a_pad, a, used * a_row);
  std::memset(a_pad + used * a_row, 0, (whole - used) * a_row);
  if (block.form == Form::kPlainAdd) {
    std::memcpy(c_pad, c, used * c_row);
    std::memset(c_pad + used * c_row, 0, (whole - used) * c_row);
  }
  thread.execute(bound, a_pad, weights, c_pad);
  std::memcpy(c, c_pad, used * c_row);
}

void run_in_blocks(ThreadState& thread, const ProductKey& key, int64_t large, int64_t small,
                   const std::byte* a, const void* weights, std::byte* c) {
  for (int64_t row = 0; row < key.m;) {
    const int64_t left = key.m - row;
    ProductKey block = key;
    block.m = left >= large ? large : small;
    BoundProduct& bound = thread.find(block);
    const std::byte* a_row = a + static_cast<size_t>(row) * row_bytes(key);
    std::byte* c_row = c + static_cast<size_t>(row) * result_row_bytes(key);
    if (left >= block.m) {
      thread.execute(bound, a_row, weights, c_row);
    } else {
      run_padded(thread, bound, block, left, a_row, weights, c_row);
    }
    row += std::min(left, block.m);
  }
}

const char* operation_name(Form form) {
  switch (form) {
    case Form::kLinear:
      return "linear";
    case Form::kTransposed:
      return "matmul_nt";
    case Form::kPlain:
      return "matmul_nn";
    case Form::kPlainAdd:
      return "matmul_nn +=";
    case Form::kOuter:
      return "matmul_tn";
    case Form::kOuterAdd:
      break;
  }
  return "matmul_tn +=";
}

void run(const ProductKey& key, const void* a, const void* weights, void* c) {
  if (key.m < 1 || key.n < 1 || key.k < 1) {
    throw Error(ErrorCode::kInternal, "a matrix product needs sizes of at least 1, got " +
                                          std::to_string(key.m) + " x " + std::to_string(key.n) +
                                          " x " + std::to_string(key.k));
  }
  ThreadState& thread = ThreadState::current();
  BoundProduct& bound = thread.find(key);
  const Product& product = *bound.product;
  const ProfileScope scope(
      {operation_name(key.form),
       {key.m, key.n, key.k},
       type_name(key.type),
       product.implementation},
      2.0 * static_cast<double>(key.m) * static_cast<double>(key.n) * static_cast<double>(key.k));
  if (product.any_rows) {
    thread.execute(bound, a, weights, c);
  } else {
    run_in_blocks(thread, key, product.large_block, product.small_block,
                  static_cast<const std::byte*>(a), weights, static_cast<std::byte*>(c));
  }
}

void check_bf16() {
  if (supports(DType::kBF16)) return;
  throw Error(ErrorCode::kInternal, "there are no products of BF16 on this processor");
}

void run_bf16(const ProductKey& key, const BFloat16* a, const BFloat16* b, float* c) {
  check_bf16();
  run(key, a, b, c);
}

// to[m, k] = from[k, m], in squares that stay in the first-level cache.
template <typename T>
void transpose(int64_t m, int64_t k, const T* from, T* to) {
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < m; row += kSide) {
    const int64_t row_end = std::min(m, row + kSide);
    for (int64_t column = 0; column < k; column += kSide) {
      const int64_t column_end = std::min(k, column + kSide);
      for (int64_t r = row; r < row_end; ++r) {
        for (int64_t c = column; c < column_end; ++c) to[r * k + c] = from[c * m + r];
      }
    }
  }
}

// Where the library's bits would depend on m, rows are wanted as rows: run() cuts them into blocks.
template <typename T>
void run_outer(const ProductKey& key, const T* a, const T* b, float* c) {
  ThreadState& thread = ThreadState::current();
  if (key.m < 1 || key.n < 1 || key.k < 1 || thread.find(key).product->any_rows) {
    return run(key, a, b, c);
  }
  const auto size = static_cast<size_t>(key.m * key.k) * sizeof(T);
  auto* rows = static_cast<T*>(thread.transposed_source.reserve(size));
  transpose(key.m, key.k, a, rows);
  ProductKey plain = key;
  plain.form = key.form == Form::kOuterAdd ? Form::kPlainAdd : Form::kPlain;
  run(plain, rows, b, c);
}

// Columns of a layout that cannot be taken apart: all are computed, in scratch.
void run_and_copy(const ProductKey& whole, const void* a, const void* weights, Columns columns,
                  std::byte* c) {
  const auto rows = static_cast<size_t>(whole.m);
  const size_t row = result_row_bytes(whole);
  const size_t used = kResultSize * static_cast<size_t>(columns.count);
  auto* all = static_cast<std::byte*>(ThreadState::current().all_columns.reserve(rows * row));
  run(whole, a, weights, all);
  const std::byte* start = all + kResultSize * static_cast<size_t>(columns.first);
  for (size_t r = 0; r < rows; ++r) std::memcpy(c + r * used, start + r * row, used);
}

Columns checked(Columns columns, int64_t out_features) {
  if (columns.count == 0) columns.count = out_features - columns.first;
  const int64_t end = columns.first + columns.count;
  const bool inside = columns.first >= 0 && columns.count >= 1 && end <= out_features;
  const bool whole_blocks = columns.first % kColumnQuantum == 0 &&
                            (columns.count % kColumnQuantum == 0 || end == out_features);
  if (inside && whole_blocks) return columns;
  throw Error(ErrorCode::kInternal,
              "columns " + std::to_string(columns.first) + " to " + std::to_string(end) + " of " +
                  std::to_string(out_features) + " are no range that a product can compute; it " +
                  "begins at a multiple of " + std::to_string(kColumnQuantum) +
                  " and ends at one or at the end");
}

// Whether columns from any multiple of kColumnQuantum on begin with a block.
bool can_split(const onednn::Layout& layout) { return kColumnQuantum % layout.column_block() == 0; }

size_t column_offset(const ProductKey& whole, const onednn::Layout& layout, int64_t first) {
  return dtype_size(whole.type) *
         static_cast<size_t>(first / layout.column_block() * layout.strides[1]);
}

Products products_of(const Rows& x, const LinearAccess::Impl& impl, Columns columns,
                     const void* sums) {
  Products products;
  products.stride = columns.count;
  if (impl.scales.empty()) {
    products.f32 = static_cast<const float*>(sums);
    return products;
  }
  products.s32 = static_cast<const int32_t*>(sums);
  products.row_scales = x.scales;
  products.row_zeros = x.zeros;
  products.column_scales = impl.scales.data() + columns.first;
  products.column_sums = impl.sums.data() + columns.first;
  return products;
}

Form plain_form(Accumulate accumulate) {
  return accumulate == Accumulate::kYes ? Form::kPlainAdd : Form::kPlain;
}

Form outer_form(Accumulate accumulate) {
  return accumulate == Accumulate::kYes ? Form::kOuterAdd : Form::kOuter;
}

std::string implementation(const ProductKey& key) {
  return ThreadState::current().find(key).product->implementation;
}

}  // namespace

bool supports(DType weight_type) {
  switch (weight_type) {
    case DType::kF32:
      return true;
    case DType::kBF16:
      return matrix_isa() >= MatrixIsa::kAvx512Bf16;
    case DType::kI8:
      return matrix_isa() >= MatrixIsa::kAvx512Vnni;
    default:
      return false;
  }
}

bool splits_columns() {
  static const bool result = [] {
    for (const DType type : {DType::kF32, DType::kBF16, DType::kI8}) {
      if (!supports(type)) continue;
      const onednn::Layout whole(linear_weight_layout(type, 768, 768));
      const onednn::Layout part(linear_weight_layout(type, kColumnQuantum, 768));
      if (!can_split(whole) || !whole.contains(part)) return false;
    }
    return true;
  }();
  return result;
}

Products linear(const Rows& x, int64_t rows, const PackedMatrix& weight, void* sums,
                Columns columns) {
  const LinearAccess::Impl* impl = LinearAccess::of(weight);
  if (impl == nullptr) {
    throw Error(ErrorCode::kInternal, "a linear layer was run before its weights were packed");
  }
  if (x.type != weight.row_type()) {
    throw Error(ErrorCode::kInternal, "rows of type " + std::string(dtype_name(x.type)) +
                                          " meet weights of type " +
                                          std::string(dtype_name(weight.type())));
  }
  columns = checked(columns, weight.out_features());
  const ProductKey whole{Form::kLinear, weight.type(), rows, weight.out_features(),
                         weight.in_features()};
  ProductKey part = whole;
  part.n = columns.count;
  const auto* packed = static_cast<const std::byte*>(impl->memory.get_data_handle());
  if (part.n == whole.n) {
    run(whole, x.data, packed, sums);
  } else if (can_split(impl->layout) &&
             impl->layout.contains(ThreadState::current().find(part).product->weight_layout)) {
    run(part, x.data, packed + column_offset(whole, impl->layout, columns.first), sums);
  } else {
    run_and_copy(whole, x.data, packed, columns, static_cast<std::byte*>(sums));
  }
  return products_of(x, *impl, columns, sums);
}

void linear(const float* x, int64_t rows, const PackedMatrix& weight, float* y) {
  linear(Rows{DType::kF32, x, nullptr, nullptr}, rows, weight, y);
}

void matmul_nt(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  run({Form::kTransposed, DType::kF32, m, n, k}, a, b, c);
}

void matmul_nn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate) {
  run({plain_form(accumulate), DType::kF32, m, n, k}, a, b, c);
}

void matmul_nt(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c) {
  run_bf16({Form::kTransposed, DType::kBF16, m, n, k}, a, b, c);
}

void matmul_nn(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c,
               Accumulate accumulate) {
  run_bf16({plain_form(accumulate), DType::kBF16, m, n, k}, a, b, c);
}

void matmul_tn(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               Accumulate accumulate) {
  run_outer({outer_form(accumulate), DType::kF32, m, n, k}, a, b, c);
}

void matmul_tn(int64_t m, int64_t n, int64_t k, const BFloat16* a, const BFloat16* b, float* c,
               Accumulate accumulate) {
  check_bf16();
  run_outer({outer_form(accumulate), DType::kBF16, m, n, k}, a, b, c);
}

int64_t row_quantum() {
  const ProductKey key{Form::kLinear, DType::kF32, 16, 768, 768};
  const auto& product = ThreadState::current().find(key).product;
  return product->any_rows ? 1 : product->small_block;
}

std::string linear_implementation(int64_t rows, int64_t out_features, int64_t in_features,
                                  DType weight_type) {
  return implementation({Form::kLinear, weight_type, rows, out_features, in_features});
}

std::string matmul_implementation(int64_t m, int64_t n, int64_t k, bool transposed_b, DType type) {
  return implementation({transposed_b ? Form::kTransposed : Form::kPlain, type, m, n, k});
}

std::string matmul_tn_implementation(int64_t m, int64_t n, int64_t k, DType type) {
  return implementation({Form::kOuter, type, m, n, k});
}

std::string library_version() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace longformer::kernels
