// What a pickle program left behind.
#include "io/checkpoint/pickle.h"
#include "io/checkpoint/pickle_names.h"
#include "io/json.h"

namespace longformer::io {

std::string_view PickleObject::text(const PickleValue& value) const {
  return program.substr(static_cast<size_t>(value.payload), value.size);
}

const std::vector<PickleValue>& PickleObject::items(const PickleValue& value) const {
  return nodes[static_cast<size_t>(value.payload)].items;
}

size_t PickleObject::position(const PickleValue& value) const {
  return nodes[static_cast<size_t>(value.payload)].position;
}

std::optional<DType> PickleObject::storage_dtype(const PickleValue& value) const {
  if (value.kind != PickleKind::kName) return std::nullopt;
  return pickle_name_dtype(value.payload);
}

size_t PickleObject::storage_element_bytes(const PickleValue& value) const {
  return value.kind == PickleKind::kName ? pickle_name_element_bytes(value.payload) : 0;
}

const std::string& PickleObject::opaque_name(const PickleValue& value) const {
  return opaque_names[static_cast<size_t>(value.payload)];
}

std::string PickleObject::describe(const PickleValue& value) const {
  switch (value.kind) {
    case PickleKind::kNone:
      return "nothing (None)";
    case PickleKind::kBool:
    case PickleKind::kInteger:
    case PickleKind::kNumber:
      return "a number";
    case PickleKind::kText:
    case PickleKind::kBytes:
      return "a string";
    case PickleKind::kTuple:
      return "a tuple";
    case PickleKind::kList:
      return "a list";
    case PickleKind::kDict:
      return "a dictionary";
    case PickleKind::kName:
      return "the name " + pickle_name_text(value.payload);
    case PickleKind::kStorage:
      return "a storage without a tensor";
    case PickleKind::kTensor:
      return "a tensor";
    case PickleKind::kOpaque:
      return "an object made by " + short_value(Json(opaque_name(value)));
  }
  return "a value";
}

}  // namespace longformer::io
