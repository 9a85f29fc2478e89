// The JSON header of a safetensors file as a list of entries. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace longformer::io {

struct SafetensorsEntry {
  std::string name;
  std::optional<DType> dtype;  // all three are set in what read_header returns
  std::optional<Shape> shape;
  std::optional<std::pair<uint64_t, uint64_t>> range;  // bytes of the data segment
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the header
  std::map<std::string, std::string> metadata;
};

// The header begins at byte 8 of the file. Only its form is checked here, not that shapes and
// ranges agree.
SafetensorsHeader read_safetensors_header(std::string_view text, const std::string& place);

}  // namespace longformer::io
