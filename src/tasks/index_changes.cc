#include "tasks/index_changes.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "io/hash.h"
#include "longformer/error.h"

namespace longformer::tasks {
namespace {

namespace fs = std::filesystem;

std::string extension(const std::string& path) { return fs::path(path).extension().string(); }

class Comparison {
 public:
  Comparison(const std::vector<io::CollectionFile>& known,
             const std::vector<std::string>& arguments, const std::vector<std::string>& documents,
             const std::function<bool()>& cancelled)
      : known_(known), cancelled_(cancelled) {
    for (const io::CollectionFile& file : known) by_path_.emplace(file.path, &file);
    for (const std::string& argument : arguments) scope_.push_back(absolute_name(argument));
    for (const std::string& name : documents) compare(name);
    find_removed();
    find_moved();
  }

  FileChanges take() { return std::move(changes_); }

 private:
  void compare(const std::string& name) {
    if (name == "-") {
      changes_.skipped.push_back({name, "standard input has no name to be found under again"});
      return;
    }
    FileToRead found;
    found.name = name;
    found.file.path = absolute_name(name);
    found.file.relative = !name.starts_with('/');
    if (!seen_.insert(found.file.path).second) return;
    struct stat status;
    if (stat(name.c_str(), &status) != 0) {
      changes_.skipped.push_back({name, std::generic_category().message(errno)});
      return;
    }
    found.file.size = status.st_size;
    found.file.mtime = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (const auto old = by_path_.find(found.file.path); old != by_path_.end()) {
      if (old->second->size == found.file.size && old->second->mtime == found.file.mtime) {
        ++changes_.unchanged;
        return;
      }
      found.old = *old->second;
    }
    hash(std::move(found));
  }

  void hash(FileToRead found) {
    if (cancelled_ && cancelled_()) throw Error(ErrorCode::kCancelled, "stopped on request");
    try {
      found.file.sha256 = io::sha256_file(found.name);
    } catch (const Error& error) {
      changes_.skipped.push_back({found.name, error.what()});
      return;
    }
    if (!found.old || found.old->sha256 != found.file.sha256) {
      changes_.read.push_back(std::move(found));
      return;
    }
    io::CollectionFile touched = *found.old;
    touched.size = found.file.size;
    touched.mtime = found.file.mtime;
    changes_.update.push_back(std::move(touched));
    ++changes_.unchanged;
  }

  void find_removed() {
    for (const io::CollectionFile& file : known_) {
      const bool in_scope = std::any_of(scope_.begin(), scope_.end(), [&](const std::string& path) {
        return is_below(file.path, path);
      });
      if (!in_scope || seen_.contains(file.path)) continue;
      // What cannot be seen at the moment (no permission, a file server that does not answer) is
      // not gone.
      struct stat status;
      if (stat(file.path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR) continue;
      changes_.remove.push_back(file);
    }
  }

  void find_moved() {
    std::unordered_multimap<std::string, size_t> gone;
    for (size_t i = 0; i < changes_.remove.size(); ++i) {
      gone.emplace(changes_.remove[i].sha256, i);
    }
    std::set<size_t> taken;
    std::erase_if(changes_.read, [&](const FileToRead& found) {
      if (found.old) return false;
      const auto [begin, end] = gone.equal_range(found.file.sha256);
      const auto origin = std::find_if(begin, end, [&](const auto& entry) {
        return !taken.contains(entry.second) &&
               extension(changes_.remove[entry.second].path) == extension(found.file.path);
      });
      if (origin == end) return false;
      taken.insert(origin->second);
      io::CollectionFile moved = changes_.remove[origin->second];
      moved.path = found.file.path;
      moved.relative = found.file.relative;
      moved.size = found.file.size;
      moved.mtime = found.file.mtime;
      changes_.update.push_back(std::move(moved));
      ++changes_.moved;
      return true;
    });
    size_t index = 0;
    std::erase_if(changes_.remove,
                  [&](const io::CollectionFile&) { return taken.contains(index++); });
  }

  const std::vector<io::CollectionFile>& known_;
  const std::function<bool()>& cancelled_;
  std::unordered_map<std::string, const io::CollectionFile*> by_path_;
  std::vector<std::string> scope_;
  std::set<std::string> seen_;
  FileChanges changes_;
};

}  // namespace

std::string absolute_name(const std::string& name) {
  std::string path = fs::absolute(name).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool is_below(const std::string& path, std::string directory) {
  if (path == directory) return true;
  if (!directory.ends_with('/')) directory += '/';
  return path.starts_with(directory);
}

std::string shown_name(const io::CollectionFile& file) {
  if (!file.relative) return file.path;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return file.path;
  const fs::path relative = fs::path(file.path).lexically_relative(here);
  return relative.empty() ? file.path : relative.string();
}

FileChanges find_changes(const std::vector<io::CollectionFile>& known,
                         const std::vector<std::string>& arguments,
                         const std::vector<std::string>& documents,
                         const std::function<bool()>& cancelled) {
  return Comparison(known, arguments, documents, cancelled).take();
}

}  // namespace longformer::tasks
