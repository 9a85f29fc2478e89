#include "models/precision.h"

#include "kernels/gemm.h"

namespace longformer {
namespace {

// The first row that fits holds.
struct Row {
  Compute asked;
  Arithmetic needs;
  Precision precision;
};

constexpr WeightTypes kWhole = {DType::kF32, DType::kF32};
constexpr WeightTypes kBf16 = {DType::kBF16, DType::kBF16};
constexpr WeightTypes kBf16Widened = {DType::kBF16, DType::kF32};
constexpr WeightTypes kInt8 = {DType::kI8, DType::kI8};
constexpr WeightTypes kInt8Widened = {DType::kI8, DType::kF32};

constexpr Row kRows[] = {
    {Compute::kF32, {}, {Compute::kF32, kWhole, kWhole, "f32"}},
    {Compute::kBf16, {.bf16 = true}, {Compute::kBf16, kBf16, kBf16, "bf16"}},
    {Compute::kBf16,
     {},
     {Compute::kBf16, kBf16Widened, kBf16Widened, "f32, weights rounded to bf16"}},
    {Compute::kInt8,
     {.bf16 = true, .int8 = true},
     {Compute::kInt8, kInt8, kBf16, "int8 products, bf16 attention"}},
    {Compute::kInt8,
     {.int8 = true},
     {Compute::kInt8, kInt8, kBf16Widened, "int8 products, f32 attention"}},
    {Compute::kInt8,
     {},
     {Compute::kInt8, kInt8Widened, kBf16Widened, "f32, weights rounded to int8"}},
};

struct Name {
  Compute compute;
  std::string_view name;
};

constexpr Name kNames[] = {
    {Compute::kF32, "f32"}, {Compute::kBf16, "bf16"}, {Compute::kInt8, "int8"}};

}  // namespace

Arithmetic processor_arithmetic() {
  return {kernels::supports(DType::kBF16), kernels::supports(DType::kI8)};
}

Precision choose_precision(Compute asked, bool stored_int8, Arithmetic arithmetic) {
  if (asked == Compute::kStored) asked = stored_int8 ? Compute::kInt8 : Compute::kF32;
  for (const Row& row : kRows) {
    const bool can = (arithmetic.bf16 || !row.needs.bf16) && (arithmetic.int8 || !row.needs.int8);
    if (row.asked == asked && can) return row.precision;
  }
  return {};
}

std::string_view compute_name(Compute compute) {
  for (const Name& known : kNames) {
    if (known.compute == compute) return known.name;
  }
  return "";
}

std::optional<Compute> compute_from_name(std::string_view name) {
  for (const Name& known : kNames) {
    if (known.name == name) return known.compute;
  }
  return std::nullopt;
}

}  // namespace longformer
