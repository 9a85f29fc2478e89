// A text of any length as parts that fit in memory. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/documents/byte_source.h"

namespace longformer::io {

struct TextPart {
  std::string text;        // valid UTF-8
  bool replaced = false;   // here or before, see TextDecoder
  int64_t first_byte = 0;  // bytes of text before this part
  int64_t first_line = 0;  // line feeds before this part
  bool last = true;
};

// Decodes the source and visits its parts in order, each of at most `part_bytes` (at least 16).
// Memory is a few parts, whatever the length. Throws kInvalidFile "empty" for a text without a
// byte, and what TextDecoder and the source throw.
void read_text_parts(ExpandedSource& source, size_t part_bytes,
                     const std::function<void(TextPart)>& visit);

// Where to end a part: after the last blank line in the second half of the first `limit` bytes,
// else after the last line there, else after white space, else between two characters. text is
// valid UTF-8 and longer than `limit`.
size_t part_end(std::string_view text, size_t limit);

}  // namespace longformer::io
