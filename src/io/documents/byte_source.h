// Bytes of a document as they come: from a file or pipe, expanded when they are gzip. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/posix.h"

namespace longformer::io {

// Fills up to `size` bytes of `out`; fewer only at the end. Throws Error.
using ByteSource = std::function<size_t(char* out, size_t size)>;

// A source whose beginning can be looked at before it is read. gzip is recognised by its first two
// bytes and expanded; members that follow each other count as one file, other bytes after the last
// member are ignored as gzip does. Throws kInvalidFile: gzip data that is damaged or cut short,
// more than the limit after expansion.
class ExpandedSource {
 public:
  explicit ExpandedSource(ByteSource source);
  ~ExpandedSource();
  ExpandedSource(const ExpandedSource&) = delete;
  ExpandedSource& operator=(const ExpandedSource&) = delete;

  // The first 64 KiB of the expanded bytes, fewer only where there are no more. Valid until the
  // first read.
  std::string_view head() const noexcept { return head_; }
  bool is_gzip() const noexcept { return gunzip_ != nullptr; }

  void set_limit(uint64_t limit) noexcept { limit_ = limit; }
  // From the beginning: the head comes again. Fewer than `size` bytes only at the end.
  size_t read(char* out, size_t size);
  // Appends up to `size` bytes, without touching memory that the source cannot fill. Returns
  // whether there may be more.
  bool append(std::string& out, size_t size);
  std::string read_all();
  // Everything in a nameless file in memory, for libraries and programs that want a file.
  FileDescriptor spool();

 private:
  class Gunzip;
  size_t read_behind_head(char* out, size_t size);

  const ByteSource source_;
  std::unique_ptr<Gunzip> gunzip_;
  std::string head_;
  size_t head_read_ = 0;
  uint64_t limit_ = UINT64_MAX;
  uint64_t read_ = 0;
};

}  // namespace longformer::io
