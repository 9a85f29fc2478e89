#include "tensor/dtype.h"

#include <array>

namespace longformer {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  size_t size;
  bool floating;
};

// In the order of the enumeration.
constexpr std::array<DTypeFacts, 13> kDTypes = {{
    {DType::kBool, "BOOL", 1, false},
    {DType::kU8, "U8", 1, false},
    {DType::kI8, "I8", 1, false},
    {DType::kU16, "U16", 2, false},
    {DType::kI16, "I16", 2, false},
    {DType::kF16, "F16", 2, true},
    {DType::kBF16, "BF16", 2, true},
    {DType::kU32, "U32", 4, false},
    {DType::kI32, "I32", 4, false},
    {DType::kF32, "F32", 4, true},
    {DType::kU64, "U64", 8, false},
    {DType::kI64, "I64", 8, false},
    {DType::kF64, "F64", 8, true},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (static_cast<size_t>(kDTypes[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order());

const DTypeFacts& facts(DType dtype) noexcept { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

size_t dtype_size(DType dtype) noexcept { return facts(dtype).size; }
std::string_view dtype_name(DType dtype) noexcept { return facts(dtype).name; }
bool is_floating(DType dtype) noexcept { return facts(dtype).floating; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const DTypeFacts& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace longformer
