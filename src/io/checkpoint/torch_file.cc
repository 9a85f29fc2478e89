#include "io/checkpoint/torch_file.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/checked.h"
#include "base/limits.h"
#include "io/checkpoint/torch_state.h"
#include "io/checkpoint/zip_stored.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr std::string_view kZipMark = "PK\x03\x04";
constexpr std::string_view kProgram = "/data.pkl";
// 0x1950A86A20F9469CFC6C as a pickled integer of ten bytes: what the old container begins with; and
// as the protocols 0 and 1 write it, which have no header.
constexpr std::string_view kLegacyMark =
    std::string_view("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19", 12);
constexpr std::string_view kLegacyMarkAsLine = "L119547037146038801333356L\n";
constexpr size_t kFrameBytes = 9;  // an operation and a length
constexpr int64_t kLegacyVersion = 1001;

std::string_view text_of(const Storage& storage) {
  const std::span<const std::byte> bytes = storage.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void fail(const std::string& place, const std::string& rule,
                       ErrorCode code = ErrorCode::kInvalidFile) {
  throw Error(code, rule, place);
}

// --- zip archive ---

std::pair<std::string_view, StoredFile> find_program(const StoredFiles& files,
                                                     const std::string& place) {
  const StoredFiles::value_type* found = nullptr;
  for (const auto& file : files) {
    if (!file.first.ends_with(kProgram)) continue;
    if (found != nullptr) fail(place, "the archive holds two files data.pkl");
    found = &file;
  }
  if (found == nullptr) {
    fail(place, "is a zip archive without a file data.pkl; PyTorch's checkpoints have one");
  }
  const std::string_view folder = found->first.substr(0, found->first.size() - kProgram.size());
  if (files.contains(std::string(folder) + "/constants.pkl")) {
    fail(place, "is a compiled program (TorchScript), not a checkpoint; save model.state_dict()",
         ErrorCode::kUnsupported);
  }
  return *found;
}

bool is_big_endian(const StoredFiles& files, const std::string& folder, std::string_view archive,
                   const std::string& place) {
  const auto found = files.find(folder + "byteorder");
  if (found == files.end()) return false;  // older versions wrote little-endian only
  std::string_view order =
      archive.substr(found->second.begin, std::min<uint64_t>(found->second.size, 16));
  while (order.ends_with('\n')) order.remove_suffix(1);
  if (order != "little" && order != "big") {
    fail(place + ": " + folder + "byteorder",
         "holds " + short_value(Json(std::string(order))) + "; it must be \"little\" or \"big\"");
  }
  return order == "big";
}

TorchFile parse_zip(const std::shared_ptr<const Storage>& storage, const std::string& place) {
  const std::string_view archive = text_of(*storage);
  const StoredFiles files = read_stored_zip(storage->bytes(), place);
  const auto [name, program] = find_program(files, place);
  const std::string folder(name.substr(0, name.size() - kProgram.size() + 1));
  TorchSource source;
  source.storage = storage;
  source.place = place + ": " + folder + "data.pkl";
  if (program.size > kMaxPickleBytes) {
    fail(source.place, "is larger than " + std::to_string(kMaxPickleBytes) + " bytes");
  }
  const PickleObject object =
      read_pickle(archive.substr(program.begin, program.size), source.place);
  source.big_endian = is_big_endian(files, folder, archive, place);
  source.find = [&](const TorchStorage& wanted) {
    const auto found = files.find(folder + "data/" + std::string(wanted.key));
    const std::string where =
        place + ": entry " + short_value(Json(folder + "data/" + std::string(wanted.key)));
    if (found == files.end()) fail(where, "is named by a tensor, but the archive has no such file");
    const uint64_t size = checked_mul(wanted.elements, wanted.element_bytes, where + ": its size");
    if (found->second.size < size) {
      fail(where, "holds " + std::to_string(found->second.size) + " bytes; its " +
                      std::to_string(wanted.elements) + " elements take " + std::to_string(size));
    }
    return found->second;
  };
  return read_state_dict(object, source);
}

// --- the stream of pickles before PyTorch 1.6 ---

class LegacyReader {
 public:
  LegacyReader(const std::shared_ptr<const Storage>& storage, const std::string& place)
      : bytes_(text_of(*storage)), place_(place) {
    source_.storage = storage;
  }

  TorchFile read() {
    next_pickle("the magic number");
    if (const PickleObject version = next_pickle("the version");
        version.root.kind != PickleKind::kInteger || version.root.payload != kLegacyVersion) {
      fail(place_, "the version of the container is not 1001", ErrorCode::kUnsupported);
    }
    next_pickle("the system's properties");  // of the writer; the bytes are little-endian anyway
    const PickleObject object = next_pickle("the state dict");
    source_.place = place_;
    const PickleObject keys = next_pickle("the list of storages");
    collect_storages(object);
    place_storages(object, keys);
    source_.find = [this](const TorchStorage& wanted) {
      return placed_.at(wanted.key);  // each storage of the object has been placed
    };
    return read_state_dict(object, source_);
  }

 private:
  PickleObject next_pickle(const char* what) {
    PickleObject object =
        read_pickle(bytes_.substr(next_), place_ + ": " + what, static_cast<size_t>(next_));
    next_ += object.size;
    return object;
  }

  void collect_storages(const PickleObject& object) {
    for (size_t i = 0; i < object.nodes.size(); ++i) {
      if (object.nodes[i].kind != PickleKind::kStorage) continue;
      const PickleValue value = {PickleKind::kStorage, 0, static_cast<int64_t>(i)};
      const TorchStorage storage = describe_storage(object, value, place_);
      const auto [found, added] = storages_.try_emplace(storage.key, storage);
      if (!added && (storage_type_name(object, found->second.type) !=
                         storage_type_name(object, storage.type) ||
                     found->second.elements != storage.elements)) {
        fail(place_, "the storage " + short_value(Json(std::string(storage.key))) +
                         " is described in two ways");
      }
    }
  }

  // After the list of keys, for each: number of elements, then the elements.
  void place_storages(const PickleObject& object, const PickleObject& keys) {
    if (keys.root.kind != PickleKind::kList) fail(place_, "has no list of storages");
    for (const PickleValue& key : keys.items(keys.root)) {
      const auto found =
          key.kind == PickleKind::kText ? storages_.find(keys.text(key)) : storages_.end();
      if (found == storages_.end()) {
        fail(place_, "lists a storage that no tensor uses");
      }
      const std::string where = place_ + ": byte " + std::to_string(next_) + ": storage " +
                                short_value(Json(std::string(found->first)));
      if (found->second.element_bytes == 0) {
        fail(where,
             "has elements of " + short_value(Json(storage_type_name(object, found->second.type))) +
                 ", whose size is not known here, so that what follows cannot be found",
             ErrorCode::kUnsupported);
      }
      const uint64_t size =
          checked_mul(found->second.elements, found->second.element_bytes, where + ": its size");
      if (bytes_.size() - next_ < 8 || bytes_.size() - next_ - 8 < size) {
        fail(where, "its " + std::to_string(size) +
                        " bytes reach beyond the end of the file; is it truncated?");
      }
      if (stored_count() != found->second.elements) {
        fail(where, "has " + std::to_string(stored_count()) + " elements here and " +
                        std::to_string(found->second.elements) + " in the description");
      }
      if (!placed_.emplace(found->first, StoredFile{next_ + 8, size}).second) {
        fail(where, "is listed twice");
      }
      next_ += 8 + size;
    }
    for (const auto& [key, storage] : storages_) {
      if (!placed_.contains(key)) {
        fail(place_, "has no bytes for the storage " + short_value(Json(std::string(key))));
      }
    }
  }

  uint64_t stored_count() const {
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[next_ + i]);
    return value;
  }

  std::string_view bytes_;
  const std::string& place_;
  uint64_t next_ = 0;
  TorchSource source_;
  std::map<std::string_view, TorchStorage> storages_;
  std::map<std::string_view, StoredFile> placed_;
};

// The protocol, from 4 on a frame, the magic number.
bool is_legacy(std::string_view bytes) {
  if (bytes.starts_with(kLegacyMarkAsLine)) return true;
  if (bytes.size() < 2 || bytes[0] != '\x80') return false;
  bytes.remove_prefix(2);
  if (bytes.starts_with('\x95')) bytes.remove_prefix(std::min(kFrameBytes, bytes.size()));
  return bytes.starts_with(kLegacyMark);
}

[[noreturn]] void fail_unknown(std::string_view bytes, const std::string& place) {
  if (bytes.empty()) fail(place, "is empty");
  if (bytes.starts_with("version https://git-lfs")) {
    fail(place, "is a pointer of Git LFS, not the file itself; fetch it with git lfs pull");
  }
  if (bytes.size() > 262 && bytes.substr(257, 5) == "ustar") {
    fail(place, "is a tar archive of the first versions of PyTorch, which is not read",
         ErrorCode::kUnsupported);
  }
  fail(place + ": byte 0",
       "is not a PyTorch checkpoint: neither a zip archive nor the container before PyTorch 1.6");
}

template <size_t kSize>
void copy_element(std::byte* out, const std::byte* in, bool swap) {
  if (!swap) {
    std::memcpy(out, in, kSize);
  } else {
    for (size_t i = 0; i < kSize; ++i) out[i] = in[kSize - 1 - i];
  }
}

// All elements in row-major order, wherever the strides say they lie.
template <size_t kSize>
std::vector<std::byte> gather(const TorchTensor& tensor, const std::byte* first) {
  const Shape& shape = tensor.view.shape;
  const auto count = static_cast<size_t>(tensor.view.elements());
  std::vector<std::byte> out(count * kSize);
  std::vector<int64_t> index(shape.size(), 0);
  std::vector<int64_t> strides = tensor.strides;
  if (strides.empty()) {  // only the bytes are to be swapped
    strides.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  }
  int64_t from = 0;
  for (size_t i = 0; i < count; ++i) {
    copy_element<kSize>(out.data() + i * kSize, first + static_cast<size_t>(from) * kSize,
                        tensor.swap_bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

std::vector<std::byte> gather_any(const TorchTensor& tensor, const std::byte* first) {
  switch (dtype_size(tensor.view.dtype)) {
    case 1:
      return gather<1>(tensor, first);
    case 2:
      return gather<2>(tensor, first);
    case 4:
      return gather<4>(tensor, first);
    default:
      return gather<8>(tensor, first);
  }
}

}  // namespace

Tensor TorchTensor::read(const std::string& place) const {
  if (!made_by.empty()) {
    fail(place, "the tensor " + short_value(Json(name)) + " was made by " +
                    short_value(Json(made_by)) + ", which is not executed and not known here");
  }
  if (!unread_type.empty()) {
    fail(place,
         "the tensor " + short_value(Json(name)) + " has elements of " +
             short_value(Json(unread_type)) + ", which this version does not read",
         ErrorCode::kUnsupported);
  }
  if (is_view()) return view;
  // Every element was checked to lie inside the file; copies of it are bounded (torch_state.cc).
  const std::byte* const first = view.storage->bytes().data() + view.offset;
  Tensor copy{view.dtype, view.shape, own_bytes(gather_any(*this, first)), 0};
  view.storage->release_pages(view.offset, copy.bytes().size());
  return copy;
}

TorchFile parse_torch(const std::shared_ptr<const Storage>& storage, const std::string& place) {
  const std::string_view bytes = text_of(*storage);
  if (bytes.starts_with(kZipMark)) return parse_zip(storage, place);
  if (is_legacy(bytes)) return LegacyReader(storage, place).read();
  fail_unknown(bytes, place);
}

TorchFile read_torch(const std::filesystem::path& path) {
  return parse_torch(map_file(path), path.string());
}

}  // namespace longformer::io
