// The central directory at the end counts; local headers only say where the bytes of a file begin.
// Layouts: PKWARE's APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12 (central header), 4.3.14 to
// 4.3.16 (ends), 4.5.3 (Zip64).
#include "io/checkpoint/zip_stored.h"

#include <algorithm>

#include "base/limits.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr uint32_t kLocalMark = 0x04034B50;
constexpr uint32_t kCentralMark = 0x02014B50;
constexpr uint32_t kEndMark = 0x06054B50;
constexpr uint32_t kEnd64Mark = 0x06064B50;
constexpr uint32_t kLocator64Mark = 0x07064B50;
constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                   kLocator64Size = 20;
constexpr uint64_t kMaxComment = 0xFFFF;
constexpr uint16_t kZip64Field = 1;
constexpr uint16_t kEncrypted = 1, kDescriptor = 8;  // flags; descriptor: sizes follow the data
constexpr uint32_t kIn64 = 0xFFFFFFFF;               // the value stands in the Zip64 field
constexpr uint16_t kCountIn64 = 0xFFFF;

struct Directory {
  uint64_t entries = 0;
  uint64_t begin = 0;
  uint64_t size = 0;
};

struct Sizes {  // as a header has them, widened by its Zip64 field
  uint64_t plain = 0;
  uint64_t packed = 0;
  uint64_t header = 0;  // of the local header; central directory only
};

class Reader {
 public:
  Reader(std::span<const std::byte> archive, const std::string& place)
      : bytes_(archive), place_(place) {}

  StoredFiles read() {
    directory_ = find_directory();
    if (directory_.entries > kMaxArchiveEntries) {
      fail_at(directory_.begin,
              "the archive holds more than " + std::to_string(kMaxArchiveEntries) + " files");
    }
    StoredFiles files;
    uint64_t at = directory_.begin;
    for (uint64_t i = 0; i < directory_.entries; ++i) at = read_entry(at, files);
    if (at != directory_.begin + directory_.size) {
      fail_at(at, "the archive's directory does not end where its end record says");
    }
    return files;
  }

 private:
  [[noreturn]] void fail_at(uint64_t at, const std::string& rule) const {
    throw Error(ErrorCode::kInvalidFile, rule, place_ + ": byte " + std::to_string(at));
  }

  [[noreturn]] void fail_entry(std::string_view name, const std::string& rule) const {
    throw Error(ErrorCode::kInvalidFile, rule,
                place_ + ": entry " + short_value(Json(std::string(name))));
  }

  void need(uint64_t at, uint64_t size, const char* what) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      fail_at(at, std::string(what) + " reaches beyond the end of the file; is it truncated?");
    }
  }

  uint64_t number(uint64_t at, size_t size) const {  // the caller has called need()
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) {
      value = value << 8 | std::to_integer<uint64_t>(bytes_[at + i]);
    }
    return value;
  }

  std::string_view text(uint64_t at, uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }

  // The end record stands before a comment that runs to the end of the file.
  uint64_t find_end() const {
    const uint64_t last = bytes_.size() - std::min<uint64_t>(bytes_.size(), kEndSize);
    const uint64_t first = last - std::min(last, kMaxComment);
    for (uint64_t at = last + 1; bytes_.size() >= kEndSize && at-- > first;) {
      if (number(at, 4) == kEndMark && number(at + 20, 2) == bytes_.size() - at - kEndSize) {
        return at;
      }
    }
    throw Error(ErrorCode::kInvalidFile,
                "the zip archive has no end record; is the file truncated?", place_);
  }

  Directory find_directory() const {
    const uint64_t end = find_end();
    if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0 ||
        number(end + 8, 2) != number(end + 10, 2)) {
      fail_at(end, "the archive is split over several files");
    }
    Directory found{number(end + 10, 2), number(end + 16, 4), number(end + 12, 4)};
    uint64_t limit = end;
    if (found.entries == kCountIn64 || found.begin == kIn64 || found.size == kIn64) {
      limit = read_end64(end, found);
    }
    if (found.begin > limit || found.size > limit - found.begin) {
      fail_at(end, "the archive's directory lies outside the file");
    }
    return found;
  }

  // Returns where the Zip64 end record begins. Fields that the old record holds must agree.
  uint64_t read_end64(uint64_t end, Directory& found) const {
    if (end < kLocator64Size || number(end - kLocator64Size, 4) != kLocator64Mark) {
      fail_at(end, "the archive's end record points to a Zip64 record that is not there");
    }
    const uint64_t at = number(end - kLocator64Size + 8, 8);
    need(at, kEnd64Size, "the Zip64 end record");
    if (number(at, 4) != kEnd64Mark || at + kEnd64Size > end - kLocator64Size) {
      fail_at(at, "is not a Zip64 end record, though the archive says so");
    }
    const Directory wide{number(at + 32, 8), number(at + 48, 8), number(at + 40, 8)};
    if (number(at + 24, 8) != wide.entries || number(at + 16, 4) != 0 || number(at + 20, 4) != 0) {
      fail_at(at, "the archive is split over several files");
    }
    if ((found.entries != kCountIn64 && found.entries != wide.entries) ||
        (found.begin != kIn64 && found.begin != wide.begin) ||
        (found.size != kIn64 && found.size != wide.size)) {
      fail_at(at, "the two end records of the archive disagree");
    }
    found = wide;
    return at;
  }

  // The entry whose central header begins at `at`; returns where the next one does.
  uint64_t read_entry(uint64_t at, StoredFiles& files) const {
    const uint64_t directory_end = directory_.begin + directory_.size;
    if (directory_end - at < kCentralSize || number(at, 4) != kCentralMark) {
      fail_at(at, "is not an entry of the archive's directory");
    }
    const uint64_t name_size = number(at + 28, 2), extra_size = number(at + 30, 2);
    const uint64_t next = at + kCentralSize + name_size + extra_size + number(at + 32, 2);
    if (next > directory_end) fail_at(at, "an entry reaches beyond the archive's directory");
    const std::string_view name = text(at + kCentralSize, name_size);
    check_plain(name, number(at + 8, 2), number(at + 10, 2));
    Sizes sizes{number(at + 24, 4), number(at + 20, 4), number(at + 42, 4)};
    widen(name, at + kCentralSize + name_size, extra_size, sizes, true);
    if (sizes.plain != sizes.packed) {
      fail_entry(name, "is stored, yet its two sizes differ: " + std::to_string(sizes.plain) +
                           " and " + std::to_string(sizes.packed));
    }
    const uint64_t begin = data_begin(name, sizes);
    if (!files.emplace(name, StoredFile{begin, sizes.plain}).second) {
      fail_entry(name, "stands twice in the archive");
    }
    return next;
  }

  void check_plain(std::string_view name, uint64_t flags, uint64_t method) const {
    if ((flags & kEncrypted) != 0) fail_entry(name, "is encrypted");
    if (method != 0) {
      fail_entry(name, "is compressed (method " + std::to_string(method) +
                           "); only stored entries are read, as PyTorch writes them");
    }
  }

  // Values that do not fit into 32 bits stand in the Zip64 field, in this order, and only those.
  void widen(std::string_view name, uint64_t at, uint64_t size, Sizes& sizes, bool central) const {
    const bool wide = sizes.plain == kIn64 || sizes.packed == kIn64 || sizes.header == kIn64;
    for (const uint64_t end = at + size; wide && end - at >= 4;) {
      const uint64_t kind = number(at, 2), length = number(at + 2, 2);
      at += 4;
      if (length > end - at) break;
      if (kind == kZip64Field) return widen_from(name, at, length, sizes, central);
      at += length;
    }
    if (wide) fail_entry(name, "says that its sizes stand in a Zip64 field, which is not there");
  }

  void widen_from(std::string_view name, uint64_t at, uint64_t length, Sizes& sizes,
                  bool central) const {
    uint64_t used = 0;
    for (uint64_t* const value : {&sizes.plain, &sizes.packed, &sizes.header}) {
      if (*value != kIn64 || (!central && value == &sizes.header)) continue;
      if (length - used < 8) fail_entry(name, "has a Zip64 field that is too short");
      *value = number(at + used, 8);
      used += 8;
    }
  }

  uint64_t data_begin(std::string_view name, const Sizes& sizes) const {
    const uint64_t at = sizes.header;
    need(at, kLocalSize, "a local header");
    if (number(at, 4) != kLocalMark) {
      fail_entry(name, "has no local header at byte " + std::to_string(at));
    }
    const uint64_t name_size = number(at + 26, 2), extra_size = number(at + 28, 2);
    need(at + kLocalSize, name_size + extra_size, "a local header");
    if (text(at + kLocalSize, name_size) != name) {
      fail_entry(name, "has another name in its local header");
    }
    check_plain(name, number(at + 6, 2), number(at + 8, 2));
    check_local_sizes(name, at, sizes);
    const uint64_t begin = at + kLocalSize + name_size + extra_size;
    if (begin > directory_.begin || sizes.plain > directory_.begin - begin) {
      fail_entry(
          name, "its " + std::to_string(sizes.plain) + " bytes reach into the archive's directory");
    }
    return begin;
  }

  // Streams are written with a local header that does not know the sizes yet.
  void check_local_sizes(std::string_view name, uint64_t at, const Sizes& central) const {
    if ((number(at + 6, 2) & kDescriptor) != 0) return;
    Sizes local{number(at + 22, 4), number(at + 18, 4), 0};
    widen(name, at + kLocalSize + number(at + 26, 2), number(at + 28, 2), local, false);
    if (local.plain != central.plain || local.packed != central.packed) {
      fail_entry(name, "its size is " + std::to_string(local.plain) + " in the local header and " +
                           std::to_string(central.plain) + " in the directory");
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& place_;
  Directory directory_;
};

}  // namespace

StoredFiles read_stored_zip(std::span<const std::byte> archive, const std::string& place) {
  return Reader(archive, place).read();
}

}  // namespace longformer::io
