// The safetensors format: reader with full validation, canonical writer.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace longformer::io {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;             // in data order; views of the storage
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Throws kInvalidFile with the file, the tensor or byte offset, and the rule that is broken.
SafetensorsFile parse_safetensors(std::shared_ptr<const Storage> storage, const std::string& place);
SafetensorsFile read_safetensors(const std::filesystem::path& path);

// Canonical bytes: header padded with spaces to a multiple of 8, tensors by descending element
// size, then name. Written to a temporary name, synced and renamed; nothing is left behind on an
// error.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});
// The same bytes, piece by piece, to wherever; `place` is for messages.
void put_safetensors(const std::function<void(std::string_view bytes)>& put,
                     std::span<const NamedTensor> tensors,
                     const std::map<std::string, std::string>& metadata, const std::string& place);

}  // namespace longformer::io
