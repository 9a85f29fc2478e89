// The safetensors reader: an accepted file has each tensor inside it, with as many bytes as shape
// and type say, none shared and none left over.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "io/safetensors.h"
#include "longformer/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const longformer::io::SafetensorsFile& file, size_t file_size) {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const auto& [name, tensor] : file.tensors) {
    const size_t bytes =
        static_cast<size_t>(tensor.elements()) * longformer::dtype_size(tensor.dtype);
    require(tensor.bytes().size() == bytes);
    require(tensor.offset <= file_size && bytes <= file_size - tensor.offset);
    if (bytes > 0) ranges.emplace_back(tensor.offset, tensor.offset + bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) require(ranges[i - 1].second == ranges[i].first);
  require(ranges.empty() || ranges.back().second == file_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  try {
    const auto storage = longformer::own_bytes(std::vector<std::byte>(bytes, bytes + size));
    check(longformer::io::parse_safetensors(storage, "input"), size);
  } catch (const longformer::Error&) {
  }
  return 0;
}
