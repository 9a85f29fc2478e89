// The safetensors reader: an accepted file has each tensor inside it, with as many bytes as shape
// and type say, none shared and none left over; what the writer makes of it is read as the same and
// written as the same bytes again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/checkpoint/safetensors.h"
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

std::string write(const longformer::io::SafetensorsFile& file) {
  std::string bytes;
  longformer::io::put_safetensors([&](std::string_view piece) { bytes += piece; }, file.tensors,
                                  file.metadata, "output");
  return bytes;
}

longformer::io::SafetensorsFile parse(const void* data, size_t size, const char* place) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return longformer::io::parse_safetensors(
      longformer::own_bytes(std::vector<std::byte>(bytes, bytes + size)), place);
}

void check_writer(const longformer::io::SafetensorsFile& file) {
  const std::string once = write(file);
  const auto again = parse(once.data(), once.size(), "output");
  require(again.metadata == file.metadata && again.tensors.size() == file.tensors.size());
  require(write(again) == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longformer::io::SafetensorsFile file;
  try {
    file = parse(data, size, "input");
  } catch (const longformer::Error&) {
    return 0;
  }
  check(file, size);
  check_writer(file);
  return 0;
}
