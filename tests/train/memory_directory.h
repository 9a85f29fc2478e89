// A directory of a test that makes thousands of files: in memory where the system has such a place.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace longformer::test {

class MemoryDirectory {
 public:
  MemoryDirectory() {
    const std::filesystem::path memory = "/dev/shm";
    const bool there = access(memory.c_str(), W_OK | X_OK) == 0;
    std::string pattern =
        ((there ? memory : std::filesystem::temp_directory_path()) / "longformer-test-XXXXXX")
            .string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~MemoryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryDirectory(const MemoryDirectory&) = delete;
  MemoryDirectory& operator=(const MemoryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace longformer::test
