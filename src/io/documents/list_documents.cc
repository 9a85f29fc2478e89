// Which files the arguments of a command mean, each once.
#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/limits.h"
#include "io/documents/documents.h"
#include "io/hash.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

using FileId = std::pair<dev_t, ino_t>;

// Nothing where a file cannot be read: reading it as a document then says why.
std::optional<std::string> hash_of(const std::string& name) {
  try {
    return sha256_file(name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool matches_any(const std::string& path, const std::vector<std::string>& globs) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matches_glob(path, glob); });
}

class Lister {
 public:
  explicit Lister(const ListOptions& options) : options_(options) {}

  void add_argument(const std::string& argument) {
    if (argument == "-") {
      (std::exchange(stdin_seen_, true) ? skip_duplicate(argument, argument)
                                        : list_.names.push_back(argument));
      return;
    }
    add(argument, {});
  }

  DocumentList take() { return std::move(list_); }

 private:
  // `below`: the path below the directory that the user named; empty for what he named himself.
  void add(const std::string& name, const std::string& below) {
    const bool found = !below.empty();
    if (found && matches_any(below, options_.exclude)) return;
    struct stat status;
    if (stat(name.c_str(), &status) != 0) {
      if (is_chosen(below)) list_.skipped.push_back({name, system_reason(errno)});
    } else if (S_ISDIR(status.st_mode)) {
      // Links may lead back up: each directory is entered once.
      if (directories_.emplace(status.st_dev, status.st_ino).second) add_directory(name, below);
    } else if (!is_chosen(below)) {
      return;
    } else if (!S_ISREG(status.st_mode)) {
      list_.skipped.push_back(
          {name, "not a regular file (" + std::string(special_kind(status.st_mode)) + ")"});
    } else if (status.st_size == 0 && found) {
      list_.skipped.push_back({name, "empty"});
    } else {
      add_file(name, status);
    }
  }

  bool is_chosen(const std::string& below) const {
    return below.empty() || options_.include.empty() || matches_any(below, options_.include);
  }

  // Depth is bounded by the longest path that the system takes.
  void add_directory(const std::string& name, const std::string& below) {
    const std::string prefix = name.ends_with('/') ? name : name + "/";
    const std::string prefix_below = below.empty() ? below : below + "/";
    for (const std::string& entry : visible_entries(name)) {
      add(prefix + entry, prefix_below + entry);
    }
  }

  // Sorted. The directory is closed before anything below it is opened: few files may be open at
  // once.
  std::vector<std::string> visible_entries(const std::string& name) {
    std::vector<std::string> entries;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(name.c_str()), closedir);
    if (!directory) {
      list_.skipped.push_back({name, system_reason(errno)});
      return entries;
    }
    errno = 0;
    while (const dirent* const entry = readdir(directory.get())) {
      if (entry->d_name[0] != '.') entries.emplace_back(entry->d_name);
      errno = 0;
    }
    if (errno != 0) list_.skipped.push_back({name, system_reason(errno)});
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  void add_file(const std::string& name, const struct stat& status) {
    if (options_.copies == Copies::kEach) return list_.names.push_back(name);
    const auto [known, added] = files_.try_emplace({status.st_dev, status.st_ino}, name);
    if (!added) return skip_duplicate(name, known->second);
    // Size 0 says nothing: empty files are no copies of each other, and files below /proc have text
    // all the same.
    // Very large ones are not compared: that would take as long as reading them.
    if (status.st_size > 0 && static_cast<uint64_t>(status.st_size) <= kMaxDocumentBytes) {
      if (const std::string* const original = find_equal(name, status.st_size)) {
        known->second = *original;
        return skip_duplicate(name, *original);
      }
    }
    list_.names.push_back(name);
  }

  // The first file with the same content. Nothing is hashed until two files have the same size.
  const std::string* find_equal(const std::string& name, off_t size) {
    SameSize& group = sizes_[size];
    if (group.first.empty()) {
      group.first = name;
      return nullptr;
    }
    if (!std::exchange(group.first_hashed, true)) {
      if (const auto hash = hash_of(group.first)) group.by_hash.emplace(*hash, group.first);
    }
    const auto hash = hash_of(name);
    if (!hash) return nullptr;
    const auto [known, added] = group.by_hash.try_emplace(*hash, name);
    return added ? nullptr : &known->second;
  }

  void skip_duplicate(const std::string& name, const std::string& original) {
    list_.duplicates.push_back({name, original});
  }

  struct SameSize {
    std::string first;
    bool first_hashed = false;
    std::unordered_map<std::string, std::string> by_hash;  // SHA-256 -> name
  };

  const ListOptions& options_;
  DocumentList list_;
  bool stdin_seen_ = false;
  std::set<FileId> directories_;
  std::map<FileId, std::string> files_;  // -> name that stands in the list
  std::map<off_t, SameSize> sizes_;
};

}  // namespace

DocumentList list_documents(const std::vector<std::string>& arguments, const ListOptions& options) {
  Lister lister(options);
  for (const std::string& argument : arguments) lister.add_argument(argument);
  return lister.take();
}

}  // namespace longformer::io
