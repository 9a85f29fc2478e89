#include "io/hub/hub_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "io/files.h"
#include "io/hash.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 1 << 20;
constexpr auto kLockPoll = std::chrono::milliseconds(100);

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorCode::kIo,
                "cannot be made: " + error.message() +
                    "; set HF_HUB_CACHE to a directory that can be written",
                path.string());
  }
}

[[noreturn]] void throw_write(int error, const fs::path& path) {
  throw Error(ErrorCode::kIo,
              "cannot be written: " + system_reason(error) +
                  (error == EACCES || error == EROFS
                       ? "; set HF_HUB_CACHE to a directory that can be written"
                       : ""),
              path.string());
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string hexadecimal(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

bool has_no_links(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS; }

void copy_whole(const fs::path& from, const fs::path& to) {
  const FileDescriptor source = open_for_reading(from.string());
  AtomicFile target(to);
  std::vector<char> block(kBlock);
  for (size_t got = kBlock; got == kBlock;) {
    got = read_some(source.get(), block.data(), kBlock, from.string());
    target.write({block.data(), got});
  }
  target.commit();
}

}  // namespace

BlobLock::BlobLock(const fs::path& repository, const std::string& hash,
                   const std::function<void()>& waiting, const std::function<bool()>& cancelled) {
  const fs::path directory = repository.parent_path() / ".locks" / repository.filename();
  make_directories(directory);
  const fs::path path = directory / (hash + ".lock");
  for (bool told = false;;) {
    file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file_.get() < 0) throw_write(errno, path);
    if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
      // Whoever held it before may have removed the file: then a lock on it keeps nobody out.
      struct stat mine;
      struct stat named;
      if (fstat(file_.get(), &mine) == 0 && stat(path.c_str(), &named) == 0 &&
          mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) {
        return;
      }
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw Error(ErrorCode::kIo, "cannot be locked: " + system_reason(errno), path.string());
    }
    if (!told && waiting) waiting();
    told = true;
    if (cancelled && cancelled()) throw Error(ErrorCode::kCancelled, "stopped");
    std::this_thread::sleep_for(kLockPoll);
  }
}

PartialBlob::PartialBlob(const fs::path& repository, const std::string& hash, uint64_t size)
    : blob_(repository / "blobs" / hash),
      path_(repository / "blobs" / (hash + ".incomplete")),
      hash_(hash),
      expected_(size) {
  make_directories(repository / "blobs");
  file_ = FileDescriptor(
      open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat status;
  if (file_.get() < 0 || fstat(file_.get(), &status) != 0) throw_write(errno, path_);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kIo, "is not a regular file; remove it and pull again", path_.string());
  }
  size_ = static_cast<uint64_t>(status.st_size);
  cut(size_ > expected_ ? 0 : size_);
  check_space();
}

void PartialBlob::check_space() {
  struct statvfs system;
  if (statvfs(blob_.parent_path().c_str(), &system) != 0) return;  // the write will tell
  const uint64_t left = static_cast<uint64_t>(system.f_bavail) * system.f_frsize;
  if (left >= expected_ - size_) return;
  remove();
  throw Error(ErrorCode::kIo,
              "the disk is too full: " + std::to_string(expected_) + " bytes are needed, " +
                  std::to_string(left) +
                  " are free; free some, or set HF_HUB_CACHE to another disk",
              blob_.parent_path().string());
}

void PartialBlob::cut(uint64_t size) {
  if (ftruncate(file_.get(), static_cast<off_t>(size)) != 0 ||
      lseek(file_.get(), static_cast<off_t>(size), SEEK_SET) < 0) {
    throw_write(errno, path_);
  }
  size_ = size;
}

void PartialBlob::write(std::string_view bytes) {
  if (bytes.size() > expected_ - size_) {
    remove();
    throw Error(ErrorCode::kInvalidFile,
                "the hub sends more than the " + std::to_string(expected_) +
                    " bytes that it lists; dropped, pull again",
                blob_.string());
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (is_full(error)) {
        remove();
        throw Error(ErrorCode::kIo,
                    "cannot be written: " + system_reason(error) + "; " +
                        std::to_string(expected_) +
                        " bytes are needed, free some or set HF_HUB_CACHE to another disk",
                    blob_.string());
      }
      throw_write(error, path_);
    }
    size_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

bool PartialBlob::is_right() const {
  if (size_ != expected_) return false;
  return (hash_.size() == 64 ? sha256_file(path_) : git_hash(path_)) == hash_;
}

void PartialBlob::publish() {
  if (fsync(file_.get()) != 0) throw_write(errno, path_);
  if (const int error = file_.close(); error != 0) throw_write(error, path_);
  if (rename(path_.c_str(), blob_.c_str()) != 0) throw_write(errno, blob_);
  sync_path(blob_.parent_path());
}

void PartialBlob::remove() noexcept {
  file_.close();
  unlink(path_.c_str());
}

std::string git_hash(const fs::path& path) {
  const std::string place = path.string();
  const FileDescriptor file = open_for_reading(place);
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw_system(errno, place);
  const std::string head = "blob " + std::to_string(status.st_size) + '\0';
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1 &&
              EVP_DigestUpdate(context.get(), head.data(), head.size()) == 1;
  std::vector<char> block(kBlock);
  for (size_t got = kBlock; good && got == kBlock;) {
    got = read_some(file.get(), block.data(), kBlock, place);
    good = EVP_DigestUpdate(context.get(), block.data(), got) == 1;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (!good || EVP_DigestFinal_ex(context.get(), digest, &size) != 1) {
    throw Error(ErrorCode::kInternal, "SHA-1 cannot be computed", place);
  }
  return hexadecimal(digest, size);
}

bool is_in_snapshot(const fs::path& pointer, uint64_t size) {
  std::error_code error;
  return fs::is_regular_file(pointer, error) && fs::file_size(pointer, error) == size && !error;
}

void add_to_snapshot(const fs::path& repository, const std::string& commit, const std::string& name,
                     const std::string& hash, SnapshotEntry entry) {
  const fs::path snapshot = repository / "snapshots" / commit;
  const fs::path pointer = snapshot / name;
  make_directories(pointer.parent_path());
  // Up from the file's directory to the repository, then down to the blob.
  fs::path target = "../..";
  for (const fs::path& part : fs::path(name).parent_path()) {
    if (!part.empty()) target /= "..";
  }
  target = target / "blobs" / hash;
  if (entry == SnapshotEntry::kLink) {
    const fs::path temporary = pointer.string() + ".tmp-" + std::to_string(getpid());
    unlink(temporary.c_str());
    if (symlink(target.c_str(), temporary.c_str()) == 0) {
      if (rename(temporary.c_str(), pointer.c_str()) == 0) return;
      const int error = errno;
      unlink(temporary.c_str());
      throw_write(error, pointer);
    }
    if (!has_no_links(errno)) throw_write(errno, pointer);
  }
  unlink(pointer.c_str());  // AtomicFile would write through a link
  copy_whole(repository / "blobs" / hash, pointer);
}

void write_ref(const fs::path& repository, const std::string& revision, const std::string& commit) {
  const fs::path ref = repository / "refs" / revision;
  make_directories(ref.parent_path());
  write_file_atomic(ref, commit);
}

}  // namespace longformer::io
