// Bytes of a file that claims to be text, to UTF-8. Internal to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longformer::io {

// Length of the longest valid UTF-8 prefix (no overlong forms, no surrogates, at most U+10FFFF).
size_t valid_utf8_prefix(std::string_view bytes) noexcept;

// True when the beginning of a file cannot be text: a NUL byte, or more than one control character
// in ten. A UTF-16 byte order mark clears it: such text is full of NUL bytes.
bool looks_binary(std::string_view head) noexcept;

struct DecodedText {
  std::string text;       // valid UTF-8 without a byte order mark
  bool replaced = false;  // some bytes were not what the text's encoding allows
};

// UTF-8 (byte order mark dropped), UTF-16 with a byte order mark, else: mostly UTF-8 with damage
// gets U+FFFD for each broken sequence; text in one byte a character is read as Windows-1252, the
// superset of Latin-1. Throws kInvalidFile with a short reason for what is none of these.
DecodedText decode_text(std::string bytes);

}  // namespace longformer::io
