// The few calls of the system through which a checkpoint reaches the disk, and what is built of
// them. Tests put faults and a record between.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/hash.h"

namespace longformer::train {

// Each returns what the system's call of that name returns, and leaves its errno.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual ssize_t write(int file, const void* data, size_t size);
  virtual int fsync(int file);
  virtual int close(int file);
  virtual int mkdir(const char* path, mode_t mode);
  virtual int rename(const char* from, const char* to);
  virtual int remove(const char* path);  // a file or an empty directory
  // Bytes that this user may still write, -1 with errno where that is unknown.
  virtual int64_t free_bytes(const char* directory);
};
SystemCalls& real_system_calls();

// A new file of a checkpoint, hashed on its way. Every function throws kIo with the file and the
// system's reason.
class DurableFile {
 public:
  DurableFile(SystemCalls& calls, std::filesystem::path path);  // the file must not exist
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::string_view bytes);
  void commit();  // fsync and close; nothing more may be written
  int64_t bytes() const noexcept { return bytes_; }
  std::string sha256() { return hash_.hex(); }  // after commit(), once

 private:
  SystemCalls& calls_;
  std::filesystem::path path_;
  int file_ = -1;
  int64_t bytes_ = 0;
  io::Sha256 hash_;
};

void make_directory(SystemCalls& calls, const std::filesystem::path& path);
void sync_directory(SystemCalls& calls, const std::filesystem::path& path);
void rename_entry(SystemCalls& calls, const std::filesystem::path& from,
                  const std::filesystem::path& to);
// Writes beside, renames over, and makes the name durable.
void replace_file(SystemCalls& calls, const std::filesystem::path& path, std::string_view bytes);
// A directory without directories inside; goes on at what is not there. Throws kIo.
void remove_directory(SystemCalls& calls, const std::filesystem::path& path);

}  // namespace longformer::train
