// SHA-256, of bytes as they come and of whole files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace longformer::io {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  // 64 lower-case hexadecimal digits. Ends the computation: neither call may follow.
  std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Of a regular file, as hex() gives it; memory does not grow with the file. Throws like read_file.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace longformer::io
