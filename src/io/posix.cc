#include "io/posix.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "longformer/error.h"

namespace longformer::io {

int FileDescriptor::close() noexcept {
  if (value_ < 0) return 0;
  return ::close(std::exchange(value_, -1)) == 0 ? 0 : errno;
}

std::string system_reason(int error) { return std::generic_category().message(error); }

void throw_system(int error, const std::string& place) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  throw Error(absent ? ErrorCode::kNotFound : ErrorCode::kIo, system_reason(error), place);
}

FileDescriptor open_for_reading(const std::string& path) {
  // A string with a NUL would silently name another file.
  if (path.find('\0') != std::string::npos) throw_system(ENOENT, path);
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) throw_system(errno, path);
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw_system(errno, path);
  if (S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::kInvalidFile, system_reason(EISDIR), path);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kInvalidFile,
                "is not a regular file (" + std::string(special_kind(status.st_mode)) + ")", path);
  }
  return file;
}

std::string_view special_kind(mode_t mode) noexcept {
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a special file";
}

size_t read_some(int file, char* out, size_t size, const std::string& place) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file, out + done, size - done);
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      throw Error(ErrorCode::kIo, system_reason(errno), place);
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

void sync_path(const std::filesystem::path& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw Error(ErrorCode::kIo, system_reason(errno), path.string());
  // Some file systems cannot sync a directory and say EINVAL: nothing more can be done there.
  if (fsync(file.get()) != 0 && errno != EINVAL) {
    throw Error(ErrorCode::kIo, system_reason(errno), path.string());
  }
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

}  // namespace longformer::io
