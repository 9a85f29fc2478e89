// The temporary files and directories that this process is writing, so that a signal can remove
// them. The one shared state of this folder.
#pragma once

#include <filesystem>

namespace longformer::io {

// Registers a path for as long as it lives.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

 private:
  std::filesystem::path path_;
};

// Removes everything that is registered. For a process that is about to end; safe from any thread.
void remove_temporaries() noexcept;

}  // namespace longformer::io
