// Random operands of matrix products in the three precisions, with the numbers they hold.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/gemm.h"

namespace longformer::kernels {

inline const DType kWeightTypes[] = {DType::kF32, DType::kBF16, DType::kI8};

struct Shape {
  int64_t out, in;
};

// [rows, cols], dense. kU8 and kI8 hold integers, -127 … 127 the latter.
struct Operand {
  DType type = DType::kF32;
  int64_t rows = 0, cols = 0;
  std::vector<float> values;
  std::vector<std::byte> data;

  const std::byte* row(int64_t r) const {
    return data.data() + static_cast<size_t>(r * cols) * dtype_size(type);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

template <typename Stored, typename Value, typename Make>
void fill(Operand& operand, Make&& make, Value&& value_of) {
  for (int64_t i = 0; i < operand.rows * operand.cols; ++i) {
    const Stored stored = make();
    operand.values.push_back(value_of(stored));
    const auto* bytes = reinterpret_cast<const std::byte*>(&stored);
    operand.data.insert(operand.data.end(), bytes, bytes + sizeof(Stored));
  }
}

inline Operand random_operand(DType type, int64_t rows, int64_t cols, uint32_t seed) {
  Operand operand{type, rows, cols, {}, {}};
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const auto same = [](auto value) { return static_cast<float>(value); };
  switch (type) {
    case DType::kBF16:
      fill<uint16_t>(
          operand, [&] { return f32_to_bf16(normal(generator)); }, bf16_to_f32);
      break;
    case DType::kU8:
      fill<uint8_t>(
          operand, [&] { return static_cast<uint8_t>(generator() % 256); }, same);
      break;
    case DType::kI8:
      fill<int8_t>(
          operand, [&] { return static_cast<int8_t>(generator() % 255 - 127); }, same);
      break;
    default:
      fill<float>(
          operand, [&] { return normal(generator); }, same);
  }
  return operand;
}

inline DType row_type(DType weight_type) {
  return weight_type == DType::kI8 ? DType::kU8 : weight_type;
}

inline PackedMatrix pack(const Operand& weight) {
  if (weight.type != DType::kI8) {
    return PackedMatrix::pack(weight.values.data(), weight.rows, weight.cols, weight.type);
  }
  std::vector<float> scales(static_cast<size_t>(weight.rows));
  for (size_t c = 0; c < scales.size(); ++c) scales[c] = static_cast<float>(c + 1);
  return PackedMatrix::pack(weight.as<int8_t>(), scales.data(), weight.rows, weight.cols);
}

enum class Kind { kLinear, kTransposed, kPlain, kPlainAdd };

// Results of either kind have four bytes an element.
using Result = std::vector<int32_t>;

inline bool same_bits(const int32_t* a, const int32_t* b, int64_t count) {
  return std::memcmp(a, b, sizeof(int32_t) * static_cast<size_t>(count)) == 0;
}

// m rows of a from row `first` on. b is [n, k] for kLinear and kTransposed, [k, n] otherwise;
// packed is b under kLinear.
inline void product(Kind kind, const Operand& a, int64_t first, int64_t m, const Operand& b,
                    const PackedMatrix& packed, int32_t* c) {
  const int64_t k = a.cols;
  const int64_t n = kind == Kind::kTransposed ? b.rows : b.cols;
  const auto run = [&]<typename T>(const T* rows, const T* second) {
    auto* sums = reinterpret_cast<float*>(c);
    if (kind == Kind::kTransposed) return matmul_nt(m, n, k, rows, second, sums);
    matmul_nn(m, n, k, rows, second, sums,
              kind == Kind::kPlainAdd ? Accumulate::kYes : Accumulate::kNo);
  };
  if (kind == Kind::kLinear) {
    linear(Rows{a.type, a.row(first), nullptr, nullptr}, m, packed, c);
  } else if (a.type == DType::kBF16) {
    run(reinterpret_cast<const BFloat16*>(a.row(first)), b.as<BFloat16>());
  } else {
    run(reinterpret_cast<const float*>(a.row(first)), b.as<float>());
  }
}

inline std::string trace_of(Kind kind, DType type, int64_t m, int64_t n, int64_t k) {
  return "kind " + std::to_string(static_cast<int>(kind)) + ", " + std::string(dtype_name(type)) +
         ", m " + std::to_string(m) + ", n " + std::to_string(n) + ", k " + std::to_string(k);
}

}  // namespace longformer::kernels
