// What has happened to the files of a collection since they were read.
#pragma once

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

struct FileChanges {
  std::vector<FileToRead> read;            // added and changed
  std::vector<io::CollectionFile> update;  // moved, or touched only: rows as they shall be
  std::vector<io::CollectionFile> remove;
  int64_t moved = 0;  // of `update`
  int64_t unchanged = 0;
  std::vector<io::SkippedFile> skipped;
};

// The absolute path of a name, without "." and "..".
std::string absolute_name(const std::string& name);
// Whether an absolute path is this directory's or lies below it.
bool is_below(const std::string& path, std::string directory);
// A file as a reader in the present working directory names it.
std::string shown_name(const io::CollectionFile& file);

// Compares by size and time, then by content: same hash under a new path is a file that has moved,
// if the old path is gone and its extension is the same. `cancelled` is asked between files and
// ends with kCancelled.
FileChanges find_changes(const std::vector<io::CollectionFile>& known,
                         const std::vector<std::string>& arguments,
                         const std::vector<std::string>& documents,
                         const std::function<bool()>& cancelled);

}  // namespace longformer::tasks
