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

// What cannot be seen at the moment (no permission, a file server that does not answer) is not
// gone.
bool is_hidden(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR;
}

class Comparison {
 public:
  Comparison(const std::vector<io::CollectionFile>& known, const std::vector<Root>& roots,
             const std::vector<std::string>& documents, const std::function<bool()>& cancelled)
      : known_(known), cancelled_(cancelled) {
    for (const io::CollectionFile& file : known) by_path_.emplace(file.path, &file);
    for (const std::string& name : documents) compare(name);
    find_moved();
    find_removed(roots);
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

  // New files that an absent file of the index has become. Looks only for files of equal content.
  void find_moved() {
    std::unordered_multimap<std::string, const io::CollectionFile*> by_hash;
    for (const io::CollectionFile& file : known_) {
      if (!seen_.contains(file.path)) by_hash.emplace(file.sha256, &file);
    }
    std::erase_if(changes_.read, [&](const FileToRead& found) {
      if (found.old) return false;
      const auto [begin, end] = by_hash.equal_range(found.file.sha256);
      const auto origin = std::find_if(begin, end, [&](const auto& entry) {
        const std::string& path = entry.second->path;
        return !moved_.contains(path) && extension(path) == extension(found.file.path) &&
               is_gone(path);
      });
      if (origin == end) return false;
      moved_.insert(origin->second->path);
      io::CollectionFile moved = *origin->second;
      moved.path = found.file.path;
      moved.relative = found.file.relative;
      moved.size = found.file.size;
      moved.mtime = found.file.mtime;
      changes_.update.push_back(std::move(moved));
      ++changes_.moved;
      return true;
    });
  }

  void find_removed(const std::vector<Root>& roots) {
    std::vector<std::string> paths;
    for (const Root& root : roots) {
      paths.push_back(absolute_name(root.argument));
      changes_.kept.push_back({root.argument, 0});
    }
    for (const io::CollectionFile& file : known_) {
      if (seen_.contains(file.path) || moved_.contains(file.path)) continue;
      bool in_scope = false;
      bool keep = false;
      for (size_t i = 0; i < roots.size(); ++i) {
        if (!is_below(file.path, paths[i])) continue;
        in_scope = true;
        if (roots[i].seen) continue;
        keep = true;
        ++changes_.kept[i].files;
      }
      if (in_scope && !keep && !is_hidden(file.path)) changes_.remove.push_back(file);
    }
    std::erase_if(changes_.kept, [](const KeptFiles& kept) { return kept.files == 0; });
  }

  const std::vector<io::CollectionFile>& known_;
  const std::function<bool()>& cancelled_;
  std::unordered_map<std::string, const io::CollectionFile*> by_path_;
  std::set<std::string> seen_;
  std::set<std::string> moved_;  // where they were
  FileChanges changes_;
};

}  // namespace

std::string absolute_name(const std::string& name) {
  std::string path = fs::absolute(name).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool is_gone(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

fs::path index_directory(const fs::path& name) {
  fs::path path = absolute_name(name.string());
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
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

std::vector<Root> find_roots(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& documents,
                             const std::vector<std::string>& copies) {
  std::set<std::string> found;
  for (const std::vector<std::string>* names : {&documents, &copies}) {
    for (const std::string& name : *names) found.insert(absolute_name(name));
  }
  std::vector<Root> roots;
  for (const std::string& argument : arguments) {
    const std::string path = absolute_name(argument);
    const auto below = found.lower_bound(path.ends_with('/') ? path : path + "/");
    roots.push_back(
        {argument, found.contains(path) || (below != found.end() && is_below(*below, path))});
  }
  return roots;
}

FileChanges find_changes(const std::vector<io::CollectionFile>& known,
                         const std::vector<Root>& roots, const std::vector<std::string>& documents,
                         const std::function<bool()>& cancelled) {
  return Comparison(known, roots, documents, cancelled).take();
}

}  // namespace longformer::tasks
