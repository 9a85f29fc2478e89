// Who may change the directory of a collection, and putting one directory in the place of another.
#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
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
const std::string kDatabaseName = "index.sqlite";

// A directory that may become a collection, or is one: nothing but our own files in it.
void check_directory(const fs::path& directory) {
  std::error_code error;
  const bool there = entry_exists(directory / kDatabaseName);
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (there || entry->path().filename() == kLockName) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "exists and is not an index; name a new or empty directory", directory.string());
  }
  if (error) throw_system(error.value(), directory.string());
}

// What the first page of a database says about its program; it is there in a damaged file too. A
// file without bytes is the first trace of a killed writer.
bool is_our_database(const fs::path& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr size_t kIdOffset = 68;
  constexpr std::string_view kId = "LFIX";
  std::array<char, kIdOffset + kId.size()> head{};
  const FileDescriptor file = open_for_reading(path.string());
  const size_t size = read_some(file.get(), head.data(), head.size(), path.string());
  const std::string_view bytes(head.data(), size);
  return size == 0 || (size == head.size() && bytes.starts_with(kMagic) && bytes.ends_with(kId));
}

bool is_own_name(const std::string& name) {
  return name == kLockName || name == kDatabaseName || name == kDatabaseName + "-wal" ||
         name == kDatabaseName + "-shm" || name == kDatabaseName + "-journal" ||
         is_segment_name(name);
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

void check_replaceable(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(directory, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() != fs::file_type::directory) {
    throw Error(ErrorCode::kInvalidArgument, "exists and is not a directory", directory.string());
  }
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool file = entry->symlink_status(error).type() == fs::file_type::regular;
    if (file && is_own_name(name) && (name != kDatabaseName || is_our_database(entry->path()))) {
      continue;
    }
    throw Error(ErrorCode::kInvalidArgument,
                "is not the file of an index, so its directory is not replaced; remove the "
                "directory yourself or name another",
                entry->path().string());
  }
  if (error) throw_system(error.value(), directory.string());
}

void remove_leftover(const fs::path& directory) {
  check_replaceable(directory);
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

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
