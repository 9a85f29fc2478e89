// PyTorch checkpoint files (.bin, .pt): a pickle that describes tensors, and their bytes. Both
// containers: the zip archive since PyTorch 1.6, and the stream of pickles before. Nothing in a
// file is ever executed (pickle.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace longformer::io {

// A tensor of a file, which may have to be put in order to be used.
struct TorchTensor {
  std::string name;
  Tensor view;                   // begins at the first element
  std::vector<int64_t> strides;  // in elements, one a dimension; empty: `view` is row-major already
  bool swap_bytes = false;       // the file was written on a big-endian machine
  // Not empty: not a tensor that this version reads, made by "module name".
  std::string made_by;
  std::string unread_type;  // not empty: nor is one with elements of this "module name"

  bool is_readable() const { return made_by.empty() && unread_type.empty(); }
  bool is_view() const { return strides.empty() && !swap_bytes; }
  // A view of the storage where the file allows it, else a copy in row-major order. Throws
  // kInvalidFile or kUnsupported with `place` for what is no readable tensor.
  Tensor read(const std::string& place) const;
};

struct TorchFile {
  std::vector<TorchTensor> tensors;  // of the state dict, in its order
  std::vector<std::string> refused;  // "module name" of functions that the file wanted to call
};

// Finds the state dict, also inside what trainers write ("state_dict", "model", "module"), and
// checks each of its tensors against the file. Throws kInvalidFile with the file, the place in it
// and the rule that is broken, kUnsupported for containers that are not read.
TorchFile parse_torch(const std::shared_ptr<const Storage>& storage, const std::string& place);
TorchFile read_torch(const std::filesystem::path& path);

}  // namespace longformer::io
