#include "train/data/data_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "io/documents/documents.h"
#include "io/files.h"
#include "io/hash.h"
#include "io/posix.h"
#include "longformer/error.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

DataFile stat_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) io::throw_system(errno, path);
  DataFile file{.path = path, .sha256 = {}};
  file.size = static_cast<uint64_t>(status.st_size);
  file.modified = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return file;
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Names directly in a directory, sorted.
std::vector<std::string> names_in(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) io::throw_system(error.value(), directory);
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    if (entry.is_regular_file(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "shards/*.jsonl": a name in one directory; with "**", or "/" behind the first star, paths below
// it.
std::vector<std::string> expand_glob(const std::string& argument) {
  const size_t slash = argument.rfind('/', argument.find_first_of("*?["));
  const bool here = slash == std::string::npos;
  const std::string directory = here ? "." : argument.substr(0, std::max<size_t>(slash, 1));
  const std::string pattern = here ? argument : argument.substr(slash + 1);
  std::vector<std::string> found;
  if (pattern.find('/') == std::string::npos && pattern.find("**") == std::string::npos) {
    for (const std::string& name : names_in(directory)) {
      if (!io::matches_glob(name, pattern)) continue;
      found.push_back(here ? name : (fs::path(directory) / name).string());
    }
  } else {
    for (const std::string& name :
         io::list_documents({directory}, {io::Copies::kEach, {}, {}}).names) {
      const std::string below = fs::path(name).lexically_relative(directory).string();
      if (io::matches_glob(below, pattern)) found.push_back(name);
    }
  }
  if (found.empty()) throw Error(ErrorCode::kNotFound, "no file matches", argument);
  return found;
}

std::vector<std::string> expand(const std::string& argument) {
  const bool glob = argument.find_first_of("*?[") != std::string::npos;
  if (glob && !io::entry_exists(argument)) return expand_glob(argument);
  if (!is_directory(argument)) return {argument};
  const io::DocumentList list = io::list_documents({argument}, {io::Copies::kEach, {}, {}});
  if (list.names.empty()) throw Error(ErrorCode::kNotFound, "holds no file to read", argument);
  return list.names;
}

}  // namespace

std::vector<std::string> expand_paths(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    for (std::string& path : expand(argument)) paths.push_back(std::move(path));
  }
  return paths;
}

DataFiles DataFiles::list(const std::vector<std::string>& arguments) {
  DataFiles result;
  std::set<std::string> seen;
  for (const std::string& path : expand_paths(arguments)) {
    if (!seen.insert(path).second) {
      throw Error(ErrorCode::kInvalidArgument, "is named twice; its examples would count twice",
                  path);
    }
    DataFile file = stat_file(path);
    file.sha256 = io::sha256_file(path);
    result.files_.push_back(std::move(file));
  }
  if (result.files_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no file of data is named");
  }
  return result;
}

std::vector<std::string> DataFiles::paths() const {
  std::vector<std::string> paths;
  for (const DataFile& file : files_) paths.push_back(file.path);
  return paths;
}

void DataFiles::check_unchanged() const {
  for (const DataFile& file : files_) {
    const DataFile now = stat_file(file.path);
    if (now.size == file.size && now.modified == file.modified) continue;
    if (now.size == file.size && io::sha256_file(file.path) == file.sha256) continue;
    throw Error(ErrorCode::kInvalidFile,
                "the data file changed during training; put back what it held (sha256 " +
                    file.sha256 + "), or start anew",
                file.path);
  }
}

std::string DataFiles::facts() const {
  std::string facts;
  for (const DataFile& file : files_) {
    facts += "data " + file.path + " " + std::to_string(file.size) + " bytes sha256 " +
             file.sha256 + "\n";
  }
  return facts;
}

}  // namespace longformer::train
