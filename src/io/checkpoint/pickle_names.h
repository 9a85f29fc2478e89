// The names of Python that a pickle of PyTorch may use with a meaning. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace longformer::io {

enum class PickleRole {
  kDict,         // a call makes a dictionary
  kTensor,       // a call describes a tensor
  kParameter,    // a call gives its first argument, a tensor
  kSize,         // a call gives its first argument, a tuple
  kStorageType,  // element type of a storage
  kOther,        // harmless; what a call would make is of no interest
};

// Index in the table, or nothing for a name that is not on it.
std::optional<size_t> find_pickle_name(std::string_view module, std::string_view name) noexcept;
PickleRole pickle_name_role(int64_t index) noexcept;
// Of storage types: nothing where this version does not read the elements.
std::optional<DType> pickle_name_dtype(int64_t index) noexcept;
size_t pickle_name_element_bytes(int64_t index) noexcept;  // of storage types; else 0
std::string pickle_name_text(int64_t index);               // "module name"

}  // namespace longformer::io
