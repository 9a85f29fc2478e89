// What has happened to the files of a collection since they were read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/collection/collection.h"
#include "io/documents/documents.h"

namespace longformer::tasks {

// A file that has to be read.
struct FileToRead {
  std::string name;                       // as listed
  io::CollectionFile file;                // path, size, time and hash as it is now
  std::optional<io::CollectionFile> old;  // what the collection has under this path
};

// Files of the index below an argument where there is no file now: they stay.
struct KeptFiles {
  std::string argument;
  int64_t files = 0;
};

struct FileChanges {
  std::vector<FileToRead> read;            // added and changed
  std::vector<io::CollectionFile> update;  // moved, or touched only: rows as they shall be
  std::vector<io::CollectionFile> remove;
  int64_t moved = 0;  // of `update`
  int64_t unchanged = 0;
  std::vector<io::SkippedFile> skipped;
  std::vector<KeptFiles> kept;
};

// The absolute path of a name, without "." and "..".
std::string absolute_name(const std::string& name);
// The same for the directory of an index; a link to one stands for what it points to.
std::filesystem::path index_directory(const std::filesystem::path& name);
// Whether nothing is there any more.
bool is_gone(const std::string& path);
// Whether an absolute path is this directory's or lies below it.
bool is_below(const std::string& path, std::string directory);
// A file as a reader in the present working directory names it.
std::string shown_name(const io::CollectionFile& file);

// A directory or file that the user named.
struct Root {
  std::string argument;
  bool seen = false;  // some file is there
};
std::vector<Root> find_roots(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& documents,
                             const std::vector<std::string>& copies);

// Compares by size and time, then by content: same hash under a new path is a file that has moved,
// wherever it was, if the old path is gone and its extension is the same. A file that is not among
// the documents is removed when it lies below roots that are all seen. `cancelled` is asked between
// files and ends with kCancelled.
FileChanges find_changes(const std::vector<io::CollectionFile>& known,
                         const std::vector<Root>& roots, const std::vector<std::string>& documents,
                         const std::function<bool()>& cancelled);

}  // namespace longformer::tasks
