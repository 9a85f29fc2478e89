// From the pickle of a PyTorch file to the tensors of its state dict. Internal to this folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/checkpoint/pickle.h"
#include "io/checkpoint/torch_file.h"
#include "io/checkpoint/zip_stored.h"

namespace longformer::io {

// What a persistent id of the pickle says of a storage.
struct TorchStorage {
  std::string_view key;
  DType dtype = DType::kF32;
  uint64_t elements = 0;  // of the whole storage
  uint64_t first = 0;     // of the part that is meant, in elements
  uint64_t count = 0;
};

// Throws kInvalidFile for a description that is malformed, kUnsupported naming an element type that
// is not read.
TorchStorage describe_storage(const PickleObject& object, const PickleValue& storage,
                              const std::string& place);

struct TorchSource {
  std::shared_ptr<const Storage> storage;
  bool big_endian = false;
  std::string place;  // of the pickle, for messages
  // Where the bytes of a storage lie in the file, checked to hold all its elements. Throws.
  std::function<StoredFile(const TorchStorage& storage)> find;
};

TorchFile read_state_dict(const PickleObject& object, const TorchSource& source);

}  // namespace longformer::io
