// The files of a data set, and whether they are still what they were.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longformer::train {

struct DataFile {
  std::string path;
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds
  std::string sha256;
};

// What arguments of DataFiles::list name, in order.
std::vector<std::string> expand_paths(const std::vector<std::string>& arguments);

class DataFiles {
 public:
  // `arguments`: files, directories (all files below, sorted), globs such as "shards/*.jsonl" (as
  // list_documents takes them). Reads every file once, for its hash. Throws kNotFound for what is
  // absent or a glob that matches nothing; kInvalidArgument without files or for one named twice.
  static DataFiles list(const std::vector<std::string>& arguments);

  const std::vector<DataFile>& files() const { return files_; }
  std::vector<std::string> paths() const;
  // Throws kInvalidFile naming the first file whose content is no longer the same. Reads it again
  // only where size or time of change differ.
  void check_unchanged() const;
  // "data PATH SIZE bytes sha256 HEX" a line.
  std::string facts() const;

 private:
  std::vector<DataFile> files_;
};

}  // namespace longformer::train
