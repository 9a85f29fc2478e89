// Element types of tensors in memory and in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace longformer {

enum class DType { kBool, kU8, kI8, kU16, kI16, kF16, kBF16, kU32, kI32, kF32, kU64, kI64, kF64 };

size_t dtype_size(DType dtype) noexcept;                           // bytes an element
std::string_view dtype_name(DType dtype) noexcept;                 // as safetensors writes it: "F32", "BF16", ...
std::optional<DType> dtype_from_name(std::string_view name) noexcept;
bool is_floating(DType dtype) noexcept;

float f16_to_f32(uint16_t bits) noexcept;   // IEEE half: subnormals, infinities, NaN
float bf16_to_f32(uint16_t bits) noexcept;
uint16_t f32_to_f16(float value) noexcept;  // round to nearest even
uint16_t f32_to_bf16(float value) noexcept; // round to nearest even; NaN stays a quiet NaN

}  // namespace longformer
