#include "io/checkpoint/pickle_names.h"

#include <algorithm>
#include <iterator>

namespace longformer::io {
namespace {

struct KnownName {
  std::string_view module;
  std::string_view name;
  PickleRole role;
  std::optional<DType> dtype = std::nullopt;
  size_t unread_bytes = 0;  // an element of a storage type without dtype
};

constexpr KnownName kNames[] = {
    {"collections", "OrderedDict", PickleRole::kDict},
    {"builtins", "dict", PickleRole::kDict},
    {"__builtin__", "dict", PickleRole::kDict},
    {"torch._utils", "_rebuild_tensor_v2", PickleRole::kTensor},
    {"torch._utils", "_rebuild_tensor", PickleRole::kTensor},
    {"torch._utils", "_rebuild_parameter", PickleRole::kParameter},
    {"torch", "Size", PickleRole::kSize},
    {"torch", "FloatStorage", PickleRole::kStorageType, DType::kF32},
    {"torch", "DoubleStorage", PickleRole::kStorageType, DType::kF64},
    {"torch", "HalfStorage", PickleRole::kStorageType, DType::kF16},
    {"torch", "BFloat16Storage", PickleRole::kStorageType, DType::kBF16},
    {"torch", "LongStorage", PickleRole::kStorageType, DType::kI64},
    {"torch", "IntStorage", PickleRole::kStorageType, DType::kI32},
    {"torch", "ShortStorage", PickleRole::kStorageType, DType::kI16},
    {"torch", "CharStorage", PickleRole::kStorageType, DType::kI8},
    {"torch", "ByteStorage", PickleRole::kStorageType, DType::kU8},
    {"torch", "BoolStorage", PickleRole::kStorageType, DType::kBool},
    {"torch.storage", "UntypedStorage", PickleRole::kStorageType, DType::kU8},
    {"torch", "ComplexFloatStorage", PickleRole::kStorageType, std::nullopt, 8},
    {"torch", "ComplexDoubleStorage", PickleRole::kStorageType, std::nullopt, 16},
    {"torch", "QInt8Storage", PickleRole::kStorageType, std::nullopt, 1},
    {"torch", "QUInt8Storage", PickleRole::kStorageType, std::nullopt, 1},
    {"torch", "QInt32Storage", PickleRole::kStorageType, std::nullopt, 4},
    {"torch", "device", PickleRole::kOther},
    {"torch", "float32", PickleRole::kOther},
    {"torch", "float64", PickleRole::kOther},
    {"torch", "float16", PickleRole::kOther},
    {"torch", "bfloat16", PickleRole::kOther},
    {"torch", "int64", PickleRole::kOther},
    {"torch", "int32", PickleRole::kOther},
    {"torch", "int16", PickleRole::kOther},
    {"torch", "int8", PickleRole::kOther},
    {"torch", "uint8", PickleRole::kOther},
    {"torch", "bool", PickleRole::kOther},
    {"builtins", "set", PickleRole::kOther},
    {"builtins", "list", PickleRole::kOther},
    {"builtins", "int", PickleRole::kOther},
    {"builtins", "float", PickleRole::kOther},
    {"__builtin__", "set", PickleRole::kOther},
    {"__builtin__", "list", PickleRole::kOther},
    {"__builtin__", "int", PickleRole::kOther},
    {"__builtin__", "float", PickleRole::kOther},
    {"_codecs", "encode", PickleRole::kOther},
};

const KnownName& entry(int64_t index) noexcept { return kNames[static_cast<size_t>(index)]; }

}  // namespace

std::optional<size_t> find_pickle_name(std::string_view module, std::string_view name) noexcept {
  const auto found = std::find_if(
      std::begin(kNames), std::end(kNames),
      [&](const KnownName& known) { return known.name == name && known.module == module; });
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<size_t>(found - std::begin(kNames));
}

PickleRole pickle_name_role(int64_t index) noexcept { return entry(index).role; }
std::optional<DType> pickle_name_dtype(int64_t index) noexcept { return entry(index).dtype; }

size_t pickle_name_element_bytes(int64_t index) noexcept {
  const KnownName& known = entry(index);
  return known.dtype ? dtype_size(*known.dtype) : known.unread_bytes;
}

std::string pickle_name_text(int64_t index) {
  return std::string(entry(index).module) + " " + std::string(entry(index).name);
}

}  // namespace longformer::io
