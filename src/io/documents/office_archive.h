// The zip archive that a DOCX or ODT file is. Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/documents/byte_source.h"

namespace longformer::io {

class OfficeArchive {
 public:
  // `file` is a file descriptor that can be positioned; it is not closed. Throws kInvalidFile with
  // a short reason.
  explicit OfficeArchive(int file);
  ~OfficeArchive();
  OfficeArchive(const OfficeArchive&) = delete;
  OfficeArchive& operator=(const OfficeArchive&) = delete;

  bool has(const std::string& name) const noexcept;
  // The bytes of one of its files, expanded as they are read and within kMaxMarkupBytes and
  // kMaxExpansion. The archive must outlive the source. Throws kInvalidFile, here or while reading.
  ByteSource open(const std::string& name) const;
  // The beginning of one of its files; empty where there is none.
  std::string beginning(const std::string& name, size_t size) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer::io
