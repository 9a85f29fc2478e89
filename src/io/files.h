// Whole files and atomic writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace longformer::io {

// Whether a directory has an entry of this name. True for a link that points nowhere: a half-copied
// model is an error when it is opened, not a model without that file.
bool entry_exists(const std::filesystem::path& path) noexcept;

// Reads a regular file of at most max_bytes. Throws kNotFound, kIo (with the system's reason) or
// kInvalidFile (too large).
std::string read_file(const std::filesystem::path& path, uint64_t max_bytes);

// A file that appears whole or not at all: temporary name beside it, fsync, rename, fsync of the
// directory.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // removes the temporary file unless committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::string_view bytes);
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
void write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

// Throws kInvalidArgument when `output` is the file `input`, under whatever name.
void refuse_same_file(const std::filesystem::path& output, const std::filesystem::path& input);
// The same for every file of a directory that is read.
void refuse_file_of(const std::filesystem::path& directory, const std::filesystem::path& output);

// Throws kInvalidArgument when `path` exists and is not an empty directory.
void check_new_directory(const std::filesystem::path& path);

// Fills a temporary directory beside `path` and renames it there; nothing is left behind when
// `fill` throws. Throws as check_new_directory.
void write_directory_atomic(
    const std::filesystem::path& path,
    const std::function<void(const std::filesystem::path& temporary)>& fill);

}  // namespace longformer::io
