// Element types of tensors in memory and in files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace longformer {

enum class DType { kBool, kU8, kI8, kU16, kI16, kF16, kBF16, kU32, kI32, kF32, kU64, kI64, kF64 };

size_t dtype_size(DType dtype) noexcept;            // bytes an element
std::string_view dtype_name(DType dtype) noexcept;  // as safetensors writes it: "F32", "BF16", ...
std::optional<DType> dtype_from_name(std::string_view name) noexcept;
bool is_floating(DType dtype) noexcept;

// IEEE half: subnormals, infinities, NaN. Without branches on the class of the number, so that
// loops over it vectorise. Normal numbers: shift the exponent into place and rescale by 2^-112,
// which also carries infinity and NaN. Subnormals: put the 10 bits below 0.5 and subtract.
inline float f16_to_f32(uint16_t bits) noexcept {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  const uint32_t sign = wide & 0x80000000u;
  const uint32_t magnitude = wide + wide;  // without the sign
  const float normal = std::bit_cast<float>((magnitude >> 4) + (0xE0u << 23)) * 0x1.0p-112f;
  const float subnormal = std::bit_cast<float>((magnitude >> 17) | (126u << 23)) - 0.5f;
  const uint32_t result =
      magnitude < (1u << 27) ? std::bit_cast<uint32_t>(subnormal) : std::bit_cast<uint32_t>(normal);
  return std::bit_cast<float>(sign | result);
}

inline float bf16_to_f32(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Round to nearest even.
inline uint16_t f32_to_f16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u;  // quiet NaN
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;  // 65520 and above round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: one unit of 0.5 is 2^-24, the step of half subnormals, so the addition rounds as
    // needed.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    half = (rounded - 0x38000000u) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

// A bf16 number in memory; arithmetic is the kernels'.
struct BFloat16 {
  uint16_t bits;
};

// Round to nearest even; NaN stays a quiet NaN.
inline uint16_t f32_to_bf16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace longformer
