#include "io/checkpoint/torch_state.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/limits.h"
#include "io/checkpoint/pickle_names.h"
#include "io/documents/text_encoding.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

// Where trainers keep the weights, in the order in which they are looked for.
constexpr std::string_view kWrappers[] = {"state_dict", "model_state_dict", "model", "module"};
constexpr int kMaxWrappers = 8;  // a dictionary may hold itself

// Views may overlap (tied weights), but a file of one megabyte has no terabyte of weights.
constexpr uint64_t kMaxExpansion = 16;
constexpr uint64_t kSmallFile = 1 << 20;

std::string in_quotes(std::string_view name) { return short_value(Json(std::string(name))); }

bool is_integer(const PickleValue& value) { return value.kind == PickleKind::kInteger; }

uint64_t whole_number(const PickleValue& value, const std::string& place, const char* what) {
  if (!is_integer(value)) {
    throw Error(ErrorCode::kInvalidFile, std::string(what) + " is not a whole number", place);
  }
  if (value.payload < 0) {
    throw Error(ErrorCode::kInvalidFile,
                std::string(what) + " is negative: " + std::to_string(value.payload), place);
  }
  return static_cast<uint64_t>(value.payload);
}

std::string at_byte(const PickleObject& object, const PickleValue& value,
                    const std::string& place) {
  return place + ": byte " + std::to_string(object.position(value));
}

class StateReader {
 public:
  StateReader(const PickleObject& object, const TorchSource& source)
      : object_(object), source_(source), file_size_(source.storage->bytes().size()) {}

  TorchFile read() {
    const std::vector<PickleValue>& items = object_.items(find_state_dict());
    for (size_t i = 0; i + 1 < items.size(); i += 2) add(items[i], items[i + 1]);
    file_.refused = object_.refused;
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw Error(ErrorCode::kInvalidFile, rule, source_.place);
  }

  const PickleValue* member(const PickleValue& dict, std::string_view key) const {
    const std::vector<PickleValue>& items = object_.items(dict);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind == PickleKind::kText && object_.text(items[i]) == key &&
          items[i + 1].kind == PickleKind::kDict && may_hold_tensors(items[i + 1])) {
        return &items[i + 1];
      }
    }
    return nullptr;
  }

  bool may_hold_tensors(const PickleValue& dict) const {
    const std::vector<PickleValue>& items = object_.items(dict);
    return std::any_of(items.begin(), items.end(), [](const PickleValue& item) {
      return item.kind == PickleKind::kTensor || item.kind == PickleKind::kDict;
    });
  }

  PickleValue find_state_dict() const {
    PickleValue value = object_.root;
    for (int depth = 0; depth < kMaxWrappers && value.kind == PickleKind::kDict; ++depth) {
      const PickleValue* inner = nullptr;
      for (const std::string_view key : kWrappers) {
        if (inner == nullptr) inner = member(value, key);
      }
      if (inner == nullptr) return value;
      value = *inner;
    }
    if (value.kind == PickleKind::kDict) {
      fail("state dicts are nested deeper than " + std::to_string(kMaxWrappers));
    }
    fail("holds " + object_.describe(value) +
         ", not a dictionary of tensors; save model.state_dict(), not the model");
  }

  void add(const PickleValue& key, const PickleValue& value) {
    const bool tensor = value.kind == PickleKind::kTensor;
    // An object of PyTorch or NumPy that is not known here may be a weight all the same.
    const bool opaque =
        value.kind == PickleKind::kOpaque && (object_.opaque_name(value).starts_with("torch") ||
                                              object_.opaque_name(value).starts_with("numpy"));
    if (!tensor && !opaque) return;  // an epoch, arguments of a trainer
    const std::string name = checked_name(key);
    if (file_.tensors.size() == kMaxTensors) {
      fail("holds more than " + std::to_string(kMaxTensors) + " tensors");
    }
    if (tensor) {
      const std::string place = at_byte(object_, value, source_.place);
      file_.tensors.push_back(read_tensor(value, place + ": tensor " + in_quotes(name)));
    } else {
      file_.tensors.emplace_back().made_by = object_.opaque_name(value);
    }
    file_.tensors.back().name = name;
  }

  std::string checked_name(const PickleValue& key) {
    if (key.kind != PickleKind::kText) fail("a tensor has a name that is no string");
    const std::string_view text = object_.text(key);
    if (text.size() > kMaxNameBytes) {
      fail("the name " + in_quotes(text) + " has more than " + std::to_string(kMaxNameBytes) +
           " bytes");
    }
    if (valid_utf8_prefix(text) != text.size()) {
      fail("the name " + in_quotes(text) + " is not valid UTF-8");
    }
    if (!names_.insert(text).second) fail("the name " + in_quotes(text) + " stands twice");
    return std::string(text);
  }

  std::vector<int64_t> numbers(const PickleValue& value, const std::string& place,
                               const char* what) const {
    if (value.kind != PickleKind::kTuple && value.kind != PickleKind::kList) {
      throw Error(ErrorCode::kInvalidFile, std::string("its ") + what + "s are not a tuple", place);
    }
    const std::vector<PickleValue>& items = object_.items(value);
    if (items.size() > kMaxRank) {
      throw Error(ErrorCode::kInvalidFile,
                  "has " + std::to_string(items.size()) + " dimensions; the limit is " +
                      std::to_string(kMaxRank),
                  place);
    }
    std::vector<int64_t> result;
    for (const PickleValue& item : items) {
      result.push_back(static_cast<int64_t>(whole_number(item, place, what)));
    }
    return result;
  }

  TorchTensor read_tensor(const PickleValue& value, const std::string& place) {
    const std::vector<PickleValue>& items = object_.items(value);
    if (items.size() < 4 || items[0].kind != PickleKind::kStorage) {
      throw Error(ErrorCode::kInvalidFile,
                  "is not described by a storage, an offset, sizes and strides", place);
    }
    const TorchStorage storage = describe_storage(object_, items[0], place);
    const uint64_t offset = whole_number(items[1], place, "the offset into its storage");
    const Shape shape = numbers(items[2], place, "size");
    std::vector<int64_t> strides = numbers(items[3], place, "stride");
    if (shape.size() != strides.size()) {
      throw Error(ErrorCode::kInvalidFile, "has not as many strides as sizes", place);
    }
    check_reach(storage, offset, shape, strides, place);
    TorchTensor tensor;
    if (!storage.dtype) {
      tensor.unread_type = storage_type_name(object_, storage.type);
      return tensor;
    }
    count_bytes(shape, *storage.dtype, place);
    const uint64_t begin =
        source_.find(storage).begin + (storage.first + offset) * storage.element_bytes;
    tensor.view = {*storage.dtype, shape, source_.storage, static_cast<size_t>(begin)};
    tensor.swap_bytes = source_.big_endian && storage.element_bytes > 1;
    if (is_row_major(shape, strides)) return tensor;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) strides[i] = 0;  // never stepped along; may be anything in the file
    }
    tensor.strides = std::move(strides);
    return tensor;
  }

  // The last element must lie inside the storage.
  static void check_reach(const TorchStorage& storage, uint64_t offset, const Shape& shape,
                          const std::vector<int64_t>& strides, const std::string& place) {
    uint64_t last = offset;
    bool empty = false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0) {
        empty = true;
        break;
      }
      last = checked_add(last,
                         checked_mul(static_cast<uint64_t>(shape[i]) - 1,
                                     static_cast<uint64_t>(strides[i]), place + ": its reach"),
                         place + ": its reach");
    }
    if (empty ? offset <= storage.count : last < storage.count) return;
    throw Error(ErrorCode::kInvalidFile,
                "its elements reach to " + std::to_string(empty ? offset : last) + ", beyond the " +
                    std::to_string(storage.count) + " of its storage",
                place);
  }

  void count_bytes(const Shape& shape, DType dtype, const std::string& place) {
    uint64_t size = dtype_size(dtype);
    for (const int64_t dimension : shape) {
      size = checked_mul(size, static_cast<uint64_t>(dimension), place + ": its size");
    }
    bytes_ = checked_add(bytes_, size, place + ": its size");
    if (bytes_ > kMaxExpansion * file_size_ + kSmallFile) {
      throw Error(ErrorCode::kInvalidFile,
                  "the tensors up to this one take " + std::to_string(bytes_) +
                      " bytes, far more than the file has",
                  place);
    }
  }

  static bool is_row_major(const Shape& shape, const std::vector<int64_t>& strides) {
    int64_t expected = 1;
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  const PickleObject& object_;
  const TorchSource& source_;
  uint64_t file_size_;
  uint64_t bytes_ = 0;
  std::set<std::string_view> names_;
  TorchFile file_;
};

bool is_storage_type(const PickleObject& object, const PickleValue& value) {
  // A name that is not known here may be one of a later version.
  return value.kind == PickleKind::kOpaque || object.storage_element_bytes(value) != 0;
}

}  // namespace

TorchStorage describe_storage(const PickleObject& object, const PickleValue& storage,
                              const std::string& place) {
  const std::vector<PickleValue>& items = object.items(storage);
  if (items.size() < 5 || items[2].kind != PickleKind::kText) {
    throw Error(ErrorCode::kInvalidFile, "a storage is not described by type, key and size",
                at_byte(object, storage, place));
  }
  if (!is_storage_type(object, items[1])) {
    throw Error(ErrorCode::kInvalidFile,
                "the element type of a storage is " + object.describe(items[1]) +
                    "; it must be a storage class of PyTorch",
                at_byte(object, storage, place));
  }
  TorchStorage result;
  result.key = object.text(items[2]);
  result.dtype = object.storage_dtype(items[1]);
  result.element_bytes = object.storage_element_bytes(items[1]);
  result.type = items[1];
  result.elements = whole_number(items[4], place, "the size of a storage");
  result.count = result.elements;
  if (items.size() > 5 && items[5].kind != PickleKind::kNone) {
    // A part of a storage, as the first versions saved shared ones: key, offset, size.
    if (items[5].kind != PickleKind::kTuple || object.items(items[5]).size() != 3) {
      throw Error(ErrorCode::kInvalidFile, "the part of a storage is not key, offset and size",
                  at_byte(object, storage, place));
    }
    const std::vector<PickleValue>& part = object.items(items[5]);
    result.first = whole_number(part[1], place, "the offset of a part of a storage");
    result.count = whole_number(part[2], place, "the size of a part of a storage");
    if (result.first > result.elements || result.count > result.elements - result.first) {
      throw Error(ErrorCode::kInvalidFile, "a part of a storage reaches beyond the storage",
                  at_byte(object, storage, place));
    }
  }
  return result;
}

std::string storage_type_name(const PickleObject& object, const PickleValue& type) {
  return type.kind == PickleKind::kOpaque ? object.opaque_name(type)
                                          : pickle_name_text(type.payload);
}

TorchFile read_state_dict(const PickleObject& object, const TorchSource& source) {
  return StateReader(object, source).read();
}

}  // namespace longformer::io
