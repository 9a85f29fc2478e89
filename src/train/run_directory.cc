#include "train/run_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "io/files.h"
#include "longformer/error.h"
#include "train/log_files.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "LOCK";
constexpr const char* kLatestFile = "LATEST";
constexpr const char* kModelDirectory = "model";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp-";
constexpr double kSpareSpace = 1.2;

// N of "step-N", and nothing else.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  name.remove_prefix(kStepPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return std::string_view(std::to_string(step)) == name ? std::optional(step) : std::nullopt;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) throw Error(ErrorCode::kIo, "cannot be read: " + error.message(), directory.string());
  return names;
}

std::vector<int64_t> steps_in(const fs::path& directory) {
  std::vector<int64_t> steps;
  for (const std::string& name : names_in(directory)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string megabytes(int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

bool alive(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

// What a new run would replace.
void refuse_strangers(const fs::path& directory) {
  for (const std::string& name : names_in(directory)) {
    if (name != kModelDirectory && name != kCsvFile && !name.starts_with(kEventsPrefix)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "holds \"" + name +
                    "\", which is of no training here and would be replaced; name "
                    "another directory",
                directory.string());
  }
}

}  // namespace

void refuse_a_training(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return;
  if (!steps_in(directory).empty() || io::entry_exists(directory / kLogFile)) {
    throw Error(ErrorCode::kInvalidArgument,
                "holds a training already; resume it, or name another directory",
                directory.string());
  }
  refuse_strangers(directory);
}

RunDirectory::RunDirectory(fs::path path, RunStart start, SystemCalls& calls)
    : path_(std::move(path)), calls_(calls) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw Error(ErrorCode::kIo, "cannot be made: " + error.message(), path_.string());
  const bool begun = io::entry_exists(path_ / kLockFile);
  lock();
  if (start == RunStart::kNew) {
    refuse_a_training(path_);
  } else if (steps().empty() && (!begun || io::entry_exists(path_ / kModelDirectory))) {
    // A training that ended before its first checkpoint has logs, and never a model.
    refuse_strangers(path_);
  }
  remove_leftovers();
}

// The lock goes with its process, however that ends; the number inside is for people, and for file
// systems without locks.
void RunDirectory::lock() {
  const fs::path file = path_ / kLockFile;
  lock_ = io::FileDescriptor(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock_.get() < 0) {
    throw Error(ErrorCode::kIo, "cannot be written: " + io::system_reason(errno), file.string());
  }
  char text[32] = {};
  const ssize_t got = pread(lock_.get(), text, sizeof text - 1, 0);
  pid_t holder = 0;
  std::from_chars(text, text + std::max<ssize_t>(got, 0), holder);
  const int error = flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  const bool taken =
      error == EWOULDBLOCK || (error != 0 && holder > 0 && holder != getpid() && alive(holder));
  if (taken) {
    throw Error(
        ErrorCode::kInvalidArgument,
        (holder > 0 ? "process " + std::to_string(holder) : std::string("another process")) +
            " is training in this directory; wait for its end or name another directory",
        path_.string());
  }
  const std::string own = std::to_string(getpid()) + "\n";
  if (ftruncate(lock_.get(), 0) != 0 ||
      pwrite(lock_.get(), own.data(), own.size(), 0) != static_cast<ssize_t>(own.size())) {
    throw Error(ErrorCode::kIo, "cannot be written: " + io::system_reason(errno), file.string());
  }
}

void RunDirectory::remove_leftovers() {
  for (const std::string& name : names_in(path_)) {
    const size_t hidden = name.front() == '.' ? 1 : 0;
    const size_t at = name.find(kTemporary);
    if (at == std::string::npos || at < hidden) continue;
    const std::string owner = name.substr(hidden, at - hidden);
    std::error_code error;
    if (owner == kLatestFile || owner == kModelDirectory || step_of(owner)) {
      fs::remove_all(path_ / name, error);
    }
    if (error) {
      throw Error(ErrorCode::kIo, "cannot be removed: " + error.message(), (path_ / name).string());
    }
  }
}

fs::path RunDirectory::checkpoint(int64_t step) const {
  return path_ / (std::string(kStepPrefix) + std::to_string(step));
}

std::vector<int64_t> RunDirectory::steps() const { return steps_in(path_); }

std::optional<int64_t> RunDirectory::newest_valid(
    const std::function<void(const std::string&)>& notice) {
  const std::vector<int64_t> all = steps();
  std::string first_reason;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    try {
      verify_checkpoint(checkpoint(*step));
      return *step;
    } catch (const Error& error) {
      damaged_.insert(*step);
      if (first_reason.empty()) first_reason = error.what();
      notice(std::string("a checkpoint cannot be used: ") + error.what());
    }
  }
  if (all.empty()) return std::nullopt;
  throw Error(
      ErrorCode::kInvalidFile,
      "no checkpoint can be used; begin anew in another directory. The newest: " + first_reason,
      path_.string());
}

void RunDirectory::check_space(const CheckpointContent& content) {
  const int64_t free = calls_.free_bytes(path_.c_str());
  const auto needed = static_cast<int64_t>(
      kSpareSpace * static_cast<double>(checkpoint_bytes(content.parameters, content.optimizer)));
  if (free < 0 || free >= needed) return;
  throw Error(ErrorCode::kIo,
              "a checkpoint needs about " + megabytes(needed) + " and the disk has " +
                  megabytes(free) + " left; make room, or keep fewer checkpoints",
              path_.string());
}

fs::path RunDirectory::aside(const fs::path& path) const {
  fs::path name = path;
  name += std::string(kTemporary) + "old-" + std::to_string(getpid());
  return name;
}

// A checkpoint of this step can be there already where it is damaged: it makes room.
void RunDirectory::put_in_place(const fs::path& temporary, int64_t step) {
  const fs::path target = checkpoint(step);
  const bool replaces = io::entry_exists(target);
  if (replaces) rename_entry(calls_, target, aside(target));
  rename_entry(calls_, temporary, target);
  sync_directory(calls_, path_);
  damaged_.erase(step);
  if (replaces) remove_directory(calls_, aside(target));
}

std::string RunDirectory::save(const CheckpointContent& content, const KeepRule& keep) {
  check_space(content);
  const int64_t step = content.state.step;
  fs::path temporary = checkpoint(step);
  temporary += std::string(kTemporary) + std::to_string(getpid());
  try {
    make_directory(calls_, temporary);
    write_checkpoint(calls_, temporary, content);
    put_in_place(temporary, step);
  } catch (const Error&) {
    try {
      remove_directory(calls_, temporary);
    } catch (const Error&) {  // the first error is the one to tell; the next start cleans up
    }
    throw;
  }
  replace_file(calls_, path_ / kLatestFile, checkpoint(step).filename().string() + "\n");
  return prune(step, keep);
}

// A name with ".tmp-" before anything is deleted: half a checkpoint never looks like a whole one.
std::string RunDirectory::prune(int64_t newest, const KeepRule& keep) {
  if (keep.limit == 0) return "";
  std::vector<int64_t> all = steps();
  std::erase_if(all, [&](int64_t step) { return damaged_.count(step) > 0; });
  const auto kept = std::min(all.size(), static_cast<size_t>(keep.limit));
  const std::vector<int64_t> newest_ones(all.end() - static_cast<std::ptrdiff_t>(kept), all.end());
  std::string failed;
  for (const int64_t step : steps()) {
    const bool stays = step == newest || (keep.best && step == *keep.best) ||
                       std::count(newest_ones.begin(), newest_ones.end(), step) > 0;
    if (stays) continue;
    try {
      const fs::path old = aside(checkpoint(step));
      rename_entry(calls_, checkpoint(step), old);
      remove_directory(calls_, old);
    } catch (const Error& error) {
      failed = std::string("an old checkpoint stays: ") + error.what();
    }
  }
  return failed;
}

void RunDirectory::write_model(const std::function<void(const fs::path&)>& fill) {
  const fs::path target = path_ / kModelDirectory, old = aside(target);
  fs::path fresh = target;
  fresh += std::string(kTemporary) + "new-" + std::to_string(getpid());
  io::write_directory_atomic(fresh, fill);
  if (io::entry_exists(target)) rename_entry(calls_, target, old);
  rename_entry(calls_, fresh, target);
  sync_directory(calls_, path_);
  std::error_code ignored;
  fs::remove_all(old, ignored);  // what stays is removed on the next start
}

}  // namespace longformer::train
