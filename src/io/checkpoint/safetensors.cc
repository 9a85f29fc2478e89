// Reader: every rule of the format is checked before a view is made.
#include "io/checkpoint/safetensors.h"

#include <algorithm>
#include <string_view>

#include "base/checked.h"
#include "base/limits.h"
#include "io/checkpoint/safetensors_header.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kLengthBytes = 8;

[[noreturn]] void refuse(const std::string& place, const std::string& rule) {
  throw Error(ErrorCode::kInvalidFile, rule, place);
}

std::string in_quotes(std::string_view name) { return short_value(Json(std::string(name))); }

using Entry = SafetensorsEntry;

// Byte length of the header, checked against the limit and the file before anything is read.
uint64_t header_length(std::span<const std::byte> bytes, const std::string& place) {
  if (bytes.size() < kLengthBytes) {
    refuse(place,
           "is " + std::to_string(bytes.size()) + " bytes long; a safetensors file has at least 8");
  }
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | std::to_integer<uint64_t>(bytes[i]);
  }
  if (length > kMaxHeaderBytes) {
    refuse(place + ": byte 0", "the header length " + std::to_string(length) +
                                   " is over the limit of " + std::to_string(kMaxHeaderBytes));
  }
  if (length > bytes.size() - kLengthBytes) {
    refuse(place + ": byte 0", "the header of " + std::to_string(length) +
                                   " bytes reaches beyond the end of the file; is it truncated?");
  }
  return length;
}

void check_size(const Entry& entry, const std::string& place) {
  const std::string where = place + ": tensor " + in_quotes(entry.name);
  const auto [begin, end] = *entry.range;
  if (end < begin) {
    refuse(where, "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
                      "] are reversed");
  }
  uint64_t elements = 1;
  for (const int64_t dimension : *entry.shape) {
    elements =
        checked_mul(elements, static_cast<uint64_t>(dimension), where + ": the shape's size");
  }
  const uint64_t size =
      checked_mul(elements, dtype_size(*entry.dtype), where + ": the shape's size in bytes");
  if (end - begin != size) {
    refuse(where, "shape " + to_string(*entry.shape) + " of " +
                      std::string(dtype_name(*entry.dtype)) + " takes " + std::to_string(size) +
                      " bytes, data_offsets give " + std::to_string(end - begin));
  }
}

// In data order the tensors must tile the data segment: no gap, no overlap, no bytes left over.
void check_tiling(const std::vector<Entry>& entries, uint64_t data_size, const std::string& place) {
  uint64_t expected = 0;
  for (const Entry& entry : entries) {
    const auto [begin, end] = *entry.range;
    if (begin != expected) {
      refuse(place + ": tensor " + in_quotes(entry.name),
             "its data begins at " + std::to_string(begin) + ", which leaves " +
                 (begin > expected ? "a hole after " : "an overlap with the data up to ") +
                 std::to_string(expected));
    }
    if (end > data_size) {
      refuse(place + ": tensor " + in_quotes(entry.name),
             "its data ends at " + std::to_string(end) + ", beyond the " +
                 std::to_string(data_size) + " data bytes of the file; is it truncated?");
    }
    expected = end;
  }
  if (expected != data_size) {
    refuse(place,
           std::to_string(data_size - expected) + " bytes after the last tensor belong to none");
  }
}

}  // namespace

SafetensorsFile parse_safetensors(std::shared_ptr<const Storage> storage,
                                  const std::string& place) {
  const std::span<const std::byte> bytes = storage->bytes();
  const uint64_t length = header_length(bytes, place);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  SafetensorsHeader header = read_safetensors_header(text, place);
  for (const Entry& entry : header.entries) check_size(entry, place);

  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const Entry& a, const Entry& b) { return *a.range < *b.range; });
  const uint64_t data_begin = kLengthBytes + length;
  check_tiling(header.entries, bytes.size() - data_begin, place);

  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.entries.size());
  for (Entry& entry : header.entries) {
    file.tensors.push_back(
        {std::move(entry.name),
         Tensor{*entry.dtype, std::move(*entry.shape), storage, data_begin + entry.range->first}});
  }
  return file;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(map_file(path), path.string());
}

}  // namespace longformer::io
