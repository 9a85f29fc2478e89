// Dot products of one query with the rows of a table: what a search over stored vectors does most.
//
//   out[r] = row[r] . query        rows lie `stride` bytes apart, at any alignment
//
// f32 and f16 rows: sums in f32, in an order that depends on the SIMD target and on cols alone, so
// a row's bits depend on that row alone. int8 rows (one f32 scale, then cols x i8) meet a query of
// 16-bit integers: products and sums are exact, so the result has the same bits on every target.
// The query keeps 16 bits because they cost nothing: the product instruction of every target takes
// pairs of 16-bit numbers, and a scan waits for memory. Cost: each byte of the table is read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longformer::kernels {

void scan_f32(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
              const float* query, float* out) noexcept;
void scan_f16(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
              const float* query, float* out) noexcept;

// values * scale is the query. |values| is at most floor((2^31 - 1) / (128 * cols)) and 32,767, so
// that no sum leaves 32 bits.
struct IntegerQuery {
  std::vector<int16_t> values;
  float scale = 0;
};
// Nearest integers, ties to even. cols of 1 to 65,536, all finite.
IntegerQuery quantize_query(std::span<const float> query);

// out[r] = float(sum) * row's scale * query.scale, in this order.
void scan_int8(int64_t rows, const std::byte* table, int64_t stride, const IntegerQuery& query,
               float* out) noexcept;

}  // namespace longformer::kernels
