// The pickle format, read as data: a stack machine that builds lists, dictionaries and descriptions
// of tensors, and never calls anything. Internal to this folder.
//
// A file can name any function of Python and ask for a call. A few names of PyTorch have a meaning
// here (pickle_names.cc); a call of anything else gives an opaque value, which matters only
// to who needs what it stands for. All values lie in one array and refer to each other by index, so
// that neither building nor destroying them recurses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace longformer::io {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInteger,  // fits into 64 bits
  kNumber,   // a float, or an integer beyond 64 bits: no value is kept
  kText,
  kBytes,
  kTuple,
  kList,
  kDict,     // items: key, value, key, value, …
  kName,     // one of the known names
  kStorage,  // items: "storage", type, key, location, number of elements[, view]
  kTensor,   // items: storage, offset, sizes, strides[, …] as the file has them
  kOpaque,   // what a name that is not known would have made
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  uint32_t size = 0;    // of kText, kBytes
  int64_t payload = 0;  // number; place of a text in the program; index of a node or name
};

struct PickleNode {
  std::vector<PickleValue> items;
  PickleKind kind = PickleKind::kTuple;
  uint32_t depth = 0;     // of the values inside
  uint32_t position = 0;  // where the program made it
};

struct PickleObject {
  PickleValue root;
  size_t size = 0;  // of the program, up to and with its end

  std::string_view text(const PickleValue& value) const;                  // kText, kBytes
  const std::vector<PickleValue>& items(const PickleValue& value) const;  // containers
  size_t position(const PickleValue& value) const;                        // containers
  // Element type of a storage class, or nothing for other values and for types that are not read.
  std::optional<DType> storage_dtype(const PickleValue& value) const;
  size_t storage_element_bytes(const PickleValue& value) const;  // 0: not known
  // "module name" of what made an opaque value.
  const std::string& opaque_name(const PickleValue& value) const;
  // Of the root, for messages: "a list", "an object made by torch.nn Linear", …
  std::string describe(const PickleValue& value) const;

  std::string_view program;
  std::vector<PickleNode> nodes;
  std::vector<std::string> opaque_names;  // of opaque values, each once
  // Those that are not on the list of known names: what a reader that executes would have run.
  std::vector<std::string> refused;
};

// Reads one program. Throws kInvalidFile with `place`, the byte (counted from `origin` at the
// program's begin) and the rule: other operations than the data ones, limits of base/limits.h, an
// end too early. `program` must outlive the object, whose texts are views of it.
PickleObject read_pickle(std::string_view program, const std::string& place, size_t origin = 0);

}  // namespace longformer::io
