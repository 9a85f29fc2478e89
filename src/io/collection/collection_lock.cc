// Who may change the directory of a collection, and putting one directory in the place of another.
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "io/collection/collection.h"
#include "io/files.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";

// A directory that may become a collection, or is one: nothing but our own files in it.
void check_directory(const fs::path& directory) {
  std::error_code error;
  const bool there = entry_exists(directory / "index.sqlite");
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (there || entry->path().filename() == kLockName) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "exists and is not an index; name a new or empty directory", directory.string());
  }
  if (error) throw_system(error.value(), directory.string());
}

}  // namespace

struct WriterLock::Impl {
  FileDescriptor file;
};

WriterLock::WriterLock(const fs::path& directory) : impl_(std::make_unique<Impl>()) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_system(errno, directory.string());
  }
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw Error(ErrorCode::kInvalidArgument, "exists and is not a directory", directory.string());
  }
  check_directory(directory);
  const fs::path path = directory / kLockName;
  impl_->file = FileDescriptor(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (impl_->file.get() < 0) throw_system(errno, path.string());
  if (flock(impl_->file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw_system(errno, path.string());
    throw Error(ErrorCode::kInvalidArgument,
                "another process is writing this index; wait until it has ended",
                directory.string());
  }
}

WriterLock::~WriterLock() = default;
WriterLock::WriterLock(WriterLock&&) noexcept = default;
WriterLock& WriterLock::operator=(WriterLock&&) noexcept = default;

void replace_directory(const fs::path& fresh, const fs::path& old) {
  const fs::path parent = directory_of(old);
  std::error_code ignored;
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) {
    sync_path(parent);
    fs::remove_all(fresh, ignored);
    return;
  }
  // A file system that cannot exchange: a moment without an index, never a half one.
  const fs::path aside = fresh.string() + ".old";
  if (rename(old.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
    throw_system(errno, old.string());
  }
  if (rename(fresh.c_str(), old.c_str()) != 0) {
    const int reason = errno;
    [[maybe_unused]] const int back = rename(aside.c_str(), old.c_str());
    throw_system(reason, old.string());
  }
  sync_path(parent);
  fs::remove_all(aside, ignored);
}

}  // namespace longformer::io
