#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "longformer/error.h"
#include "tensor/tensor.h"

namespace longformer {
namespace {

class OwnedStorage final : public Storage {
 public:
  explicit OwnedStorage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const noexcept override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class MappedStorage final : public Storage {
 public:
  MappedStorage(void* address, size_t size) : address_(address), size_(size) {}
  ~MappedStorage() override { munmap(address_, size_); }
  MappedStorage(const MappedStorage&) = delete;
  MappedStorage& operator=(const MappedStorage&) = delete;

  std::span<const std::byte> bytes() const noexcept override {
    return {static_cast<const std::byte*>(address_), size_};
  }

  // Whole pages inside the range only: a neighbour may still need the first and last one.
  void release_pages(size_t offset, size_t size) const noexcept override {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (offset > size_ || size > size_ - offset || size < page) return;
    const size_t begin = (offset + page - 1) / page * page;
    const size_t end = (offset + size) / page * page;
    if (begin < end) madvise(static_cast<char*>(address_) + begin, end - begin, MADV_DONTNEED);
  }

 private:
  void* address_;
  size_t size_;
};

class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) close(value_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const noexcept { return value_; }

 private:
  int value_;
};

[[noreturn]] void throw_system(int error, const std::filesystem::path& path) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  throw Error(absent ? ErrorCode::kNotFound : ErrorCode::kIo,
              std::generic_category().message(error), path.string());
}

}  // namespace

std::shared_ptr<const Storage> own_bytes(std::vector<std::byte> bytes) {
  return std::make_shared<OwnedStorage>(std::move(bytes));
}

std::shared_ptr<const Storage> map_file(const std::filesystem::path& path) {
  // Non-blocking, so that a named pipe is refused below instead of waited for.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw_system(errno, path);
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw_system(errno, path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kInvalidFile,
                S_ISDIR(status.st_mode) ? "Is a directory" : "is not a regular file",
                path.string());
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return own_bytes({});
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) throw_system(errno, path);
  try {
    return std::make_shared<MappedStorage>(address, size);
  } catch (...) {
    munmap(address, size);
    throw;
  }
}

}  // namespace longformer
