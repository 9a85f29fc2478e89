// The writing side of the hub cache: one blob at a time under its lock, verified before it gets its
// name; links of snapshots; refs. Several processes, huggingface_hub among them, may work on one
// cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "io/posix.h"

namespace longformer::io {

// The lock of a blob, as huggingface_hub takes it: flock() on CACHE/.locks/REPOSITORY/HASH.lock.
class BlobLock {
 public:
  // Waits as long as another process holds it; `waiting` is called once before, `cancelled` asked
  // meanwhile. Throws kIo, kCancelled.
  BlobLock(const std::filesystem::path& repository, const std::string& hash,
           const std::function<void()>& waiting, const std::function<bool()>& cancelled);

 private:
  FileDescriptor file_;
};

// HASH.incomplete: what has arrived of a file. Stays after a failure, to go on from there.
class PartialBlob {
 public:
  // Opens or creates it. Throws kIo.
  PartialBlob(const std::filesystem::path& repository, const std::string& hash, uint64_t size);

  uint64_t size() const { return size_; }
  // Drops everything from this byte on.
  void cut(uint64_t size);
  // Throws kInvalidFile for more bytes than the file has (all of it is dropped then), kIo with the
  // system's reason (on a full disk all of it is dropped as well).
  void write(std::string_view bytes);
  // Whether the bytes are the file: size and hash. Throws kIo.
  bool is_right() const;
  // Durable and under its name. is_right() must hold.
  void publish();
  void remove() noexcept;

 private:
  void check_space();

  std::filesystem::path blob_;
  std::filesystem::path path_;
  std::string hash_;
  uint64_t expected_;
  uint64_t size_ = 0;
  FileDescriptor file_;
};

// The SHA-1 that git gives a file: of "blob SIZE", a NUL byte and the bytes. Throws like read_file.
std::string git_hash(const std::filesystem::path& path);

// What stands at snapshots/COMMIT/NAME: is it the blob's content, judged by the size?
bool is_in_snapshot(const std::filesystem::path& pointer, uint64_t size);

enum class SnapshotEntry {
  kLink,  // a relative link to the blob; where the file system has none, a copy
  kCopy,
};
// Makes snapshots/COMMIT/NAME of a blob, in place of what stood there. Throws kIo.
void add_to_snapshot(const std::filesystem::path& repository, const std::string& commit,
                     const std::string& name, const std::string& hash, SnapshotEntry entry);

// refs/REVISION, atomically. Throws kIo.
void write_ref(const std::filesystem::path& repository, const std::string& revision,
               const std::string& commit);

}  // namespace longformer::io
