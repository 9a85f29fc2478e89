// Products and rows for the tests of the row-wise kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/operands.h"

namespace longformer::kernels {

using Values = std::vector<float>;

inline bool slow_tests() {
  const char* value = std::getenv("LONGFORMER_SLOW_TESTS");
  return value != nullptr && std::string(value) == "1";
}

inline Values random_values(int64_t count, uint32_t seed, float scale = 1.0f, float shift = 0.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(shift, scale);
  Values values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

template <class T>
bool same_bits(const T* a, const T* b, int64_t count) {
  return count == 0 || std::memcmp(a, b, static_cast<size_t>(count) * sizeof(T)) == 0;
}

enum class Sums { kF32, kS32 };
inline constexpr Sums kSums[] = {Sums::kF32, Sums::kS32};

// A product of `rows` rows whose columns [first, first + cols) are looked at; the memory has four
// more columns behind them.
struct TestProduct {
  TestProduct(Sums kind, int64_t row_count, int64_t col_count, int64_t first_column, uint32_t seed)
      : rows(row_count), cols(col_count), first(first_column), stride(first + cols + 4) {
    const Values normal = random_values(rows * stride, seed);
    if (kind == Sums::kF32) {
      f32 = normal;
      return;
    }
    for (const float value : normal) s32.push_back(static_cast<int32_t>(1e5f * value));
    std::mt19937 generator(seed + 1);
    for (int64_t c = 0; c < stride; ++c) {
      column_sums.push_back(static_cast<int32_t>(generator() % 4001) - 2000);
      column_scales.push_back(0.001f + 0.00001f * static_cast<float>(generator() % 1000));
    }
    for (int64_t r = 0; r < rows; ++r) {
      row_zeros.push_back(static_cast<int32_t>(generator() % 256));
      row_scales.push_back(0.002f + 0.0001f * static_cast<float>(generator() % 100));
    }
  }

  Products whole() const {
    Products p{.stride = stride};
    if (s32.empty()) {
      p.f32 = f32.data();
      return p;
    }
    p.s32 = s32.data();
    p.row_scales = row_scales.data();
    p.row_zeros = row_zeros.data();
    p.column_scales = column_scales.data();
    p.column_sums = column_sums.data();
    return p;
  }
  Products products() const { return whole().columns(first); }

  // What element (r, c) of products() stands for, without rounding.
  double value(int64_t r, int64_t c) const {
    const int64_t i = r * stride + first + c;
    if (s32.empty()) return f32[i];
    const int64_t exact = int64_t{s32[i]} - int64_t{row_zeros[r]} * column_sums[first + c];
    return static_cast<double>(exact) * row_scales[r] * column_scales[first + c];
  }

  // The memory of products(), to be overwritten.
  float* memory() {
    return s32.empty() ? f32.data() + first : reinterpret_cast<float*>(s32.data() + first);
  }

  int64_t rows, cols, first, stride;
  Values f32, row_scales, column_scales;
  std::vector<int32_t> s32, row_zeros, column_sums;
};

// A dense f32 product over memory that the caller has.
inline Products dense_product(const float* sums, int64_t cols) {
  return {.stride = cols, .f32 = sums};
}

// Rows of any type with guard values behind each row (kU8: behind the last).
struct TestRows {
  static constexpr float kGuard = -9876.5f;
  static constexpr uint16_t kGuard16 = 0xA5A5;
  static constexpr uint8_t kGuard8 = 0x5A;

  TestRows(DType row_type, int64_t row_count, int64_t col_count, int64_t gap = 5)
      : type(row_type),
        rows(row_count),
        cols(col_count),
        stride(type == DType::kU8 ? cols : cols + gap),
        f32(type == DType::kF32 ? size() : 0, kGuard),
        bf16(type == DType::kBF16 ? size() : 0, BFloat16{kGuard16}),
        u8(type == DType::kU8 ? size() : 0, kGuard8),
        scales(rows + 1, kGuard),
        zeros(rows + 1, -77) {}

  RowsBuffer buffer() {
    void* data = f32.data();
    if (type == DType::kBF16) data = bf16.data();
    if (type == DType::kU8) data = u8.data();
    return {type, data, stride, scales.data(), zeros.data()};
  }
  bool guards_stand() const {
    for (size_t i = 0; i < size(); ++i) {
      const auto c = static_cast<int64_t>(i) % stride;
      if (static_cast<int64_t>(i) < rows * stride && c < cols) continue;
      if (type == DType::kF32 && f32[i] != kGuard) return false;
      if (type == DType::kBF16 && bf16[i].bits != kGuard16) return false;
      if (type == DType::kU8 && u8[i] != kGuard8) return false;
    }
    return scales[rows] == kGuard && zeros[rows] == -77;
  }
  // The values that the rows stand for.
  double value(int64_t r, int64_t c) const {
    const int64_t i = r * stride + c;
    if (type == DType::kF32) return f32[i];
    if (type == DType::kBF16) return bf16_to_f32(bf16[i].bits);
    return (int{u8[i]} - zeros[r]) * double{scales[r]};
  }

  DType type;
  int64_t rows, cols, stride;
  Values f32;
  std::vector<BFloat16> bf16;
  std::vector<uint8_t> u8;
  Values scales;
  std::vector<int32_t> zeros;

 private:
  size_t size() const { return static_cast<size_t>(rows * stride + 70); }
};

}  // namespace longformer::kernels
