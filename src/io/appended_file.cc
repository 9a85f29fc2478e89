#include "io/appended_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::kIo, reason, path.string());
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = FileDescriptor(
      open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (file_.get() < 0) refuse(path_, "cannot be written: " + system_reason(errno));
  struct stat status;
  if (fstat(file_.get(), &status) != 0) throw_system(errno, path_.string());
  if (!S_ISREG(status.st_mode)) {
    refuse(path_, "is not a regular file (" + std::string(special_kind(status.st_mode)) +
                      "), so what it holds cannot be continued");
  }
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    refuse(path_, "another process is writing it; wait for its end or name another file");
  }  // a file system without locks goes without
}

void AppendedFile::cut(int64_t size) {
  if (ftruncate(file_.get(), size) != 0) {
    refuse(path_, "cannot be written: " + system_reason(errno));
  }
}

void AppendedFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      refuse(path_, "cannot be written: " + system_reason(errno));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AppendedFile::sync() {
  if (fsync(file_.get()) != 0) refuse(path_, "cannot be written: " + system_reason(errno));
  sync_path(directory_of(path_));
}

}  // namespace longformer::io
