#include "io/files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "io/posix.h"
#include "io/temporaries.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

// Calls `create(candidate)` with hidden names beside `path` until one is free; create returns 0 or
// an errno value.
template <typename Create>
fs::path create_beside(const fs::path& path, Create create) {
  const std::string base =
      "." + path.filename().string().substr(0, 200) + ".tmp-" + std::to_string(getpid()) + "-";
  for (int n = 0;; ++n) {
    const fs::path candidate = directory_of(path) / (base + std::to_string(n));
    const int error = create(candidate);
    if (error == 0) return candidate;
    if (error != EEXIST) throw_system(error, path.string());
  }
}

// Where a link points, so that writing through a link replaces the file and keeps the link. Refuses
// to put a regular file in the place of a device or pipe (as root, "--output /dev/null" would
// otherwise succeed).
fs::path writable_target(const fs::path& path) {
  std::error_code error;
  const fs::path target =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : path;
  if (error && error != std::errc::no_such_file_or_directory) {
    throw_system(error.value(), path.string());
  }
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(ErrorCode::kIo,
                fs::is_directory(status) ? "is a directory, not a file to write"
                                         : "is not a regular file, so it cannot be replaced",
                path.string());
  }
  if (target.filename().empty()) throw_system(ENOENT, path.string());
  return target;
}

void sync_tree(const fs::path& directory) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_symlink() && (entry.is_regular_file() || entry.is_directory())) {
      sync_path(entry.path());
    }
  }
  sync_path(directory);
}

}  // namespace

bool entry_exists(const fs::path& path) noexcept {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

std::string read_file(const fs::path& path, uint64_t max_bytes) {
  const std::string place = path.string();
  const FileDescriptor file = open_for_reading(place);
  const auto refuse_size = [&] {
    throw Error(ErrorCode::kInvalidFile,
                "is larger than " + std::to_string(max_bytes) + " bytes, the limit here", place);
  };
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw_system(errno, place);
  if (static_cast<uint64_t>(status.st_size) > max_bytes) refuse_size();
  // The size is only a hint: files below /proc say 0, and a file may grow while it is read.
  std::string bytes;
  size_t done = 0;
  size_t block = std::max<size_t>(static_cast<size_t>(status.st_size) + 1, 4096);
  for (;;) {
    bytes.resize(done + block);
    const size_t got = read_some(file.get(), bytes.data() + done, block, place);
    done += got;
    if (done > max_bytes) refuse_size();
    if (got < block) break;
    block = done;
  }
  bytes.resize(done);
  return bytes;
}

struct AtomicFile::Impl {
  fs::path target;
  fs::path temporary;
  std::optional<Temporary> registered;
  FileDescriptor file;

  ~Impl() { discard(); }

  void discard() noexcept {
    file.close();
    if (!temporary.empty()) unlink(temporary.c_str());
    temporary.clear();
    registered.reset();
  }

  [[noreturn]] void fail(int error) {
    discard();
    throw Error(ErrorCode::kIo, "cannot be written: " + system_reason(error), target.string());
  }
};

AtomicFile::AtomicFile(fs::path path) : impl_(std::make_unique<Impl>()) {
  impl_->target = writable_target(path);
  impl_->temporary = create_beside(impl_->target, [this](const fs::path& candidate) {
    impl_->file =
        FileDescriptor(open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    return impl_->file.get() < 0 ? errno : 0;
  });
  impl_->registered.emplace(impl_->temporary);
  // A file that is replaced keeps its permissions; where that is refused the usual ones do.
  struct stat old;
  if (stat(impl_->target.c_str(), &old) == 0) {
    [[maybe_unused]] const int ignored = fchmod(impl_->file.get(), old.st_mode & 0777);
  }
}

AtomicFile::~AtomicFile() = default;

void AtomicFile::write(std::string_view bytes) {
  if (impl_->temporary.empty()) {
    throw Error(ErrorCode::kInternal, "write after commit or failure", impl_->target.string());
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(impl_->file.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      impl_->fail(errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (impl_->temporary.empty()) {
    throw Error(ErrorCode::kInternal, "second commit, or commit after failure",
                impl_->target.string());
  }
  if (fsync(impl_->file.get()) != 0) impl_->fail(errno);
  if (const int error = impl_->file.close(); error != 0) impl_->fail(error);
  if (rename(impl_->temporary.c_str(), impl_->target.c_str()) != 0) impl_->fail(errno);
  impl_->temporary.clear();
  impl_->registered.reset();
  sync_path(directory_of(impl_->target));
}

void write_file_atomic(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

namespace {

// "name/" has an empty last part: the directory is its parent.
fs::path directory_target(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

[[noreturn]] void refuse_existing(const fs::path& target, const char* what) {
  throw Error(ErrorCode::kInvalidArgument,
              std::string(what) + "; name a new or empty directory, or remove it first",
              target.string());
}

}  // namespace

void refuse_same_file(const fs::path& output, const fs::path& input) {
  std::error_code error;
  if (!fs::equivalent(output, input, error) || error) return;
  throw Error(ErrorCode::kInvalidArgument, "is read as well; name another file to write",
              output.string());
}

void refuse_file_of(const fs::path& directory, const fs::path& output) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    refuse_same_file(output, at->path());
  }
}

void check_new_directory(const fs::path& path) {
  const fs::path target = directory_target(path);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_directory(status)) {
    refuse_existing(target, "exists, not a directory");
  }
  if (fs::is_directory(status) && !fs::is_empty(target, error)) {
    if (error) throw_system(error.value(), target.string());
    refuse_existing(target, "exists and is not empty");
  }
}

void write_directory_atomic(const fs::path& path,
                            const std::function<void(const fs::path& temporary)>& fill) {
  check_new_directory(path);
  const fs::path target = directory_target(path);
  const fs::path temporary = create_beside(target, [](const fs::path& candidate) {
    return mkdir(candidate.c_str(), 0777) == 0 ? 0 : errno;
  });
  const Temporary registered(temporary);
  try {
    fill(temporary);
    sync_tree(temporary);
    if (rename(temporary.c_str(), target.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST) refuse_existing(target, "appeared meanwhile");
      throw_system(errno, target.string());
    }
  } catch (const fs::filesystem_error& failure) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw Error(ErrorCode::kIo, "cannot be written: " + failure.code().message(), target.string());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  sync_path(directory_of(target));
}

}  // namespace longformer::io
