#include "train/system_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw Error(ErrorCode::kIo, std::string(what) + ": " + io::system_reason(error), path.string());
}

}  // namespace

int SystemCalls::open(const char* path, int flags, mode_t mode) {
  return ::open(path, flags, mode);
}
ssize_t SystemCalls::write(int file, const void* data, size_t size) {
  return ::write(file, data, size);
}
int SystemCalls::fsync(int file) { return ::fsync(file); }
int SystemCalls::close(int file) { return ::close(file); }
int SystemCalls::mkdir(const char* path, mode_t mode) { return ::mkdir(path, mode); }
int SystemCalls::rename(const char* from, const char* to) { return ::rename(from, to); }
int SystemCalls::remove(const char* path) { return ::remove(path); }

int64_t SystemCalls::free_bytes(const char* directory) {
  struct statvfs status;
  if (statvfs(directory, &status) != 0) return -1;
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

SystemCalls& real_system_calls() {
  static SystemCalls calls;
  return calls;
}

DurableFile::DurableFile(SystemCalls& calls, fs::path path)
    : calls_(calls), path_(std::move(path)) {
  file_ = calls_.open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path_, "cannot be written", errno);
}

DurableFile::~DurableFile() {
  if (file_ >= 0) calls_.close(file_);
}

void DurableFile::write(std::string_view bytes) {
  hash_.update(bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t written = calls_.write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path_, "cannot be written", written < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void DurableFile::commit() {
  // After a failed fsync the pages may be lost: a second one would say that all is well.
  if (calls_.fsync(file_) != 0) fail(path_, "cannot be written", errno);
  if (calls_.close(std::exchange(file_, -1)) != 0) fail(path_, "cannot be written", errno);
}

void make_directory(SystemCalls& calls, const fs::path& path) {
  if (calls.mkdir(path.c_str(), 0777) != 0) fail(path, "cannot be made", errno);
}

void sync_directory(SystemCalls& calls, const fs::path& path) {
  const int file = calls.open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) fail(path, "cannot be opened", errno);
  const int error = calls.fsync(file) == 0 ? 0 : errno;
  calls.close(file);
  // Some file systems cannot sync a directory and say EINVAL: nothing more can be done there.
  if (error != 0 && error != EINVAL) fail(path, "cannot be written", error);
}

void rename_entry(SystemCalls& calls, const fs::path& from, const fs::path& to) {
  if (calls.rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot be written", errno);
}

void replace_file(SystemCalls& calls, const fs::path& path, std::string_view bytes) {
  fs::path temporary = path;
  temporary += ".tmp-" + std::to_string(getpid());
  try {
    DurableFile file(calls, temporary);
    file.write(bytes);
    file.commit();
    rename_entry(calls, temporary, path);
  } catch (...) {
    calls.remove(temporary.c_str());
    throw;
  }
  sync_directory(calls, io::directory_of(path));
}

void remove_directory(SystemCalls& calls, const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  entries.push_back(path);
  for (const fs::path& entry : entries) {
    if (calls.remove(entry.c_str()) != 0 && errno != ENOENT) {
      fail(entry, "cannot be removed", errno);
    }
  }
}

}  // namespace longformer::train
