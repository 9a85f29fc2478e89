// Writer: the same bytes as the reference library for the same tensors.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/checked.h"
#include "base/limits.h"
#include "io/checkpoint/safetensors.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

// The reference sorts by its own list of types, largest elements first, and by name within a type.
constexpr std::array<DType, 13> kWriteOrder = {
    DType::kU64, DType::kI64, DType::kF64, DType::kF32, DType::kU32, DType::kI32, DType::kBF16,
    DType::kF16, DType::kU16, DType::kI16, DType::kI8,  DType::kU8,  DType::kBool};

size_t write_rank(DType dtype) {
  return static_cast<size_t>(std::find(kWriteOrder.begin(), kWriteOrder.end(), dtype) -
                             kWriteOrder.begin());
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::strict);
}

void check_name(const std::string& name, std::set<std::string>& seen, const std::string& place) {
  if (name == "__metadata__" || name.size() > kMaxNameBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                json_text(name.substr(0, 40)) + " cannot be the name of a tensor", place);
  }
  if (!seen.insert(name).second) {
    throw Error(ErrorCode::kInvalidArgument, json_text(name) + " is the name of two tensors",
                place);
  }
}

std::string make_header(const std::vector<const NamedTensor*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ',';
      header += json_text(key) + ":" + json_text(value);
    }
    header += '}';
  }
  uint64_t offset = 0;
  for (const NamedTensor* const item : tensors) {
    if (header.size() > 1) header += ',';
    std::string shape;
    for (const int64_t dimension : item->tensor.shape) {
      if (!shape.empty()) shape += ',';
      shape += std::to_string(dimension);
    }
    const uint64_t end = checked_add(offset, item->tensor.bytes().size(), "the size of the file");
    header += json_text(item->name) + ":{\"dtype\":\"" +
              std::string(dtype_name(item->tensor.dtype)) + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

void put_safetensors(const std::function<void(std::string_view bytes)>& put,
                     std::span<const NamedTensor> tensors,
                     const std::map<std::string, std::string>& metadata, const std::string& place) {
  std::vector<const NamedTensor*> sorted;
  std::set<std::string> seen;
  for (const NamedTensor& item : tensors) {
    check_name(item.name, seen, place);
    sorted.push_back(&item);
  }
  std::sort(sorted.begin(), sorted.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const size_t rank_a = write_rank(a->tensor.dtype), rank_b = write_rank(b->tensor.dtype);
    return rank_a != rank_b ? rank_a < rank_b : a->name < b->name;
  });
  const std::string header = make_header(sorted, metadata);
  if (header.size() > kMaxHeaderBytes || sorted.size() > kMaxTensors) {
    throw Error(ErrorCode::kInvalidArgument, "too many tensors for one safetensors file", place);
  }
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  put(length + header);
  for (const NamedTensor* const item : sorted) {
    const std::span<const std::byte> bytes = item->tensor.bytes();
    put({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  AtomicFile file(path);
  put_safetensors([&](std::string_view bytes) { file.write(bytes); }, tensors, metadata,
                  path.string());
  file.commit();
}

}  // namespace longformer::io
