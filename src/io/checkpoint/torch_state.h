// From the pickle of a PyTorch file to the tensors of its state dict. Internal to this folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/checkpoint/pickle.h"
#include "io/checkpoint/torch_file.h"
#include "io/checkpoint/zip_stored.h"

namespace longformer::io {

// What a persistent id of the pickle says of a storage.
struct TorchStorage {
  std::string_view key;
  std::optional<DType> dtype;  // absent: elements that this version does not read
  size_t element_bytes = 0;    // 0: not known, only where dtype is absent
  PickleValue type;            // its storage class
  uint64_t elements = 0;       // of the whole storage
  uint64_t first = 0;          // of the part that is meant, in elements
  uint64_t count = 0;
};

// Throws kInvalidFile for a description that is malformed. An element type that is not read is
// none: a tensor that nobody wants may have it.
TorchStorage describe_storage(const PickleObject& object, const PickleValue& storage,
                              const std::string& place);

// "module name" of a storage class.
std::string storage_type_name(const PickleObject& object, const PickleValue& type);

struct TorchSource {
  std::shared_ptr<const Storage> storage;
  bool big_endian = false;
  std::string place;  // of the pickle, for messages
  // Where the bytes of a storage lie in the file, checked to hold all its elements. Throws.
  std::function<StoredFile(const TorchStorage& storage)> find;
};

TorchFile read_state_dict(const PickleObject& object, const TorchSource& source);

}  // namespace longformer::io
