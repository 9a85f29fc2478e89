// Bytes of a document as they come: from a file or pipe, expanded when they are gzip. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace longformer::io {

// Fills up to `size` bytes of `out`; fewer only at the end. Throws Error.
using ByteSource = std::function<size_t(char* out, size_t size)>;

// Reads everything, at most `limit` bytes after expansion. gzip is recognised by its first two
// bytes; members that follow each other count as one file, other bytes after the last member are
// ignored as gzip does. `check_head` sees the first 64 KiB of the (expanded) bytes before more is
// read, and throws when it has seen enough. Throws kInvalidFile: over the limit, or gzip data that
// is damaged or cut short.
std::string read_expanded(const ByteSource& source, uint64_t limit,
                          const std::function<void(std::string_view head)>& check_head);

}  // namespace longformer::io
