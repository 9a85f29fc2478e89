// Small pieces over the system's file calls, shared inside this folder.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace longformer::io {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      value_ = std::exchange(other.value_, -1);
    }
    return *this;
  }

  int get() const noexcept { return value_; }
  int release() noexcept { return std::exchange(value_, -1); }  // to another owner
  // Returns 0 or an errno value. Some file systems report a failed write only here.
  int close() noexcept;

 private:
  int value_ = -1;
};

std::string system_reason(int error);  // "Permission denied", …

// Throws kNotFound or kIo with the system's reason and `place`.
[[noreturn]] void throw_system(int error, const std::string& place);

// Opens for reading without ever waiting for the other end of a pipe or a terminal. Throws as
// above; directories and special files are kInvalidFile.
FileDescriptor open_for_reading(const std::string& path);

// What a file that is neither regular nor a directory is: "a named pipe", "a socket", "a device", …
std::string_view special_kind(mode_t mode) noexcept;

// Up to `size` bytes, fewer only at the end of the file. Throws kIo.
size_t read_some(int file, char* out, size_t size, const std::string& place);

// Makes names inside a directory, or a whole file, durable. Throws kIo.
void sync_path(const std::filesystem::path& path);

// The directory that holds `path`: "." for a plain name.
std::filesystem::path directory_of(const std::filesystem::path& path);

}  // namespace longformer::io
