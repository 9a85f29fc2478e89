#include "io/documents/office_archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstdio>

#include "base/limits.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidFile, reason);
}

uint64_t little_endian(std::string_view bytes, size_t size) noexcept {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string read_at(int file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = pread(file, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

// Number of entries that the record at `at` of the file's tail claims. In the 64-bit form the
// number stands elsewhere.
uint64_t claimed_entries(int file, std::string_view tail, size_t at) {
  constexpr size_t kLocator = 20, kRecord64 = 56;
  const uint64_t count = little_endian(tail.substr(at + 10), 2);
  if (count != 0xFFFF || at < kLocator) return count;
  const std::string_view locator = tail.substr(at - kLocator, kLocator);
  if (!locator.starts_with("PK\6\7")) return count;
  const uint64_t offset = little_endian(locator.substr(8), 8);
  if (offset > kMaxDocumentBytes) return UINT64_MAX;
  const std::string record = read_at(file, offset, kRecord64);
  if (record.size() < kRecord64) return UINT64_MAX;
  return little_endian(std::string_view(record).substr(32), 8);
}

// The library takes memory for every entry of the archive when it opens it.
void check_entries(int file, uint64_t size) {
  constexpr size_t kTail = 22 + 65535 + 20, kRecord = 22;
  const uint64_t begin = size > kTail ? size - kTail : 0;
  const std::string tail = read_at(file, begin, static_cast<size_t>(size - begin));
  for (size_t at = tail.find("PK\5\6"); at != std::string::npos; at = tail.find("PK\5\6", at + 1)) {
    if (at + kRecord > tail.size()) break;
    if (claimed_entries(file, tail, at) > kMaxArchiveEntries) {
      refuse("an archive of more than " + std::to_string(kMaxArchiveEntries) + " files");
    }
  }
}

struct CloseEntry {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

// Reads within the limits, whatever the archive says about sizes.
class EntryReader {
 public:
  EntryReader(zip_file_t* file, uint64_t compressed) : file_(file), compressed_(compressed) {}

  size_t read(char* out, size_t size) {
    size_t done = 0;
    while (done < size) {
      const zip_int64_t got = zip_fread(file_.get(), out + done, size - done);
      if (got < 0) refuse("a damaged archive");
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    read_ += done;
    constexpr uint64_t kSmall = 16u << 20;
    if (read_ > kMaxMarkupBytes) {
      refuse("more than " + std::to_string(kMaxMarkupBytes) + " bytes of XML in it");
    }
    if (read_ > kSmall && read_ / kMaxExpansion > compressed_) {
      refuse("expands more than " + std::to_string(kMaxExpansion) + " times");
    }
    return done;
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> file_;
  const uint64_t compressed_;
  uint64_t read_ = 0;
};

}  // namespace

struct OfficeArchive::Impl {
  zip_t* archive = nullptr;
  ~Impl() {
    if (archive != nullptr) zip_discard(archive);
  }
};

OfficeArchive::OfficeArchive(int file) : impl_(std::make_unique<Impl>()) {
  struct stat status;
  if (fstat(file, &status) != 0) throw_system(errno, {});
  if (static_cast<uint64_t>(status.st_size) > kMaxDocumentBytes) {
    refuse("larger than " + std::to_string(kMaxDocumentBytes) + " bytes");
  }
  check_entries(file, static_cast<uint64_t>(status.st_size));
  FileDescriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) throw_system(errno, {});
  FILE* const stream = fdopen(copy.get(), "rb");
  if (stream == nullptr) throw_system(errno, {});
  copy.release();
  zip_source_t* const source = zip_source_filep_create(stream, 0, -1, nullptr);
  if (source == nullptr) {
    std::fclose(stream);
    throw Error(ErrorCode::kInternal, "libzip cannot be started");
  }
  impl_->archive = zip_open_from_source(source, ZIP_RDONLY, nullptr);
  if (impl_->archive == nullptr) {
    zip_source_free(source);
    refuse("a damaged ZIP archive");
  }
}

OfficeArchive::~OfficeArchive() = default;

bool OfficeArchive::has(const std::string& name) const noexcept {
  return zip_name_locate(impl_->archive, name.c_str(), 0) >= 0;
}

ByteSource OfficeArchive::open(const std::string& name) const {
  zip_stat_t status;
  if (zip_stat(impl_->archive, name.c_str(), 0, &status) != 0) refuse("damaged: no text in it");
  if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE) {
    refuse("protected by a password; save it without one");
  }
  zip_file_t* const file = zip_fopen_index(impl_->archive, status.index, 0);
  if (file == nullptr) refuse("a damaged archive");
  const auto reader = std::make_shared<EntryReader>(file, status.comp_size);
  return [reader](char* out, size_t size) { return reader->read(out, size); };
}

std::string OfficeArchive::beginning(const std::string& name, size_t size) const {
  if (!has(name)) return {};
  std::string bytes(size, '\0');
  bytes.resize(open(name)(bytes.data(), size));
  return bytes;
}

}  // namespace longformer::io
