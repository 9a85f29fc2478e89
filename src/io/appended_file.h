// A file that grows by whole writes and is continued by a later process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/posix.h"

namespace longformer::io {

class AppendedFile {
 public:
  // Opens or makes it; nothing in it changes yet. Throws kIo with the reason, also where it is no
  // regular file or another process has it open so.
  explicit AppendedFile(std::filesystem::path path);

  // Cuts off what lies behind; then append() goes on there. Before the first append().
  void cut(int64_t size);
  // One write where the system allows. Throws kIo: a full disk leaves a part of `bytes` behind.
  void append(std::string_view bytes);
  // Makes everything durable.
  void sync();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

}  // namespace longformer::io
