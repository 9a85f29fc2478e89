// Bytes of a file that claims to be text, to UTF-8. Internal to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace longformer::io {

// Length of the longest valid UTF-8 prefix (no overlong forms, no surrogates, at most U+10FFFF).
size_t valid_utf8_prefix(std::string_view bytes) noexcept;

void append_utf8(std::string& out, char32_t code_point);

// True when the beginning of a file cannot be text: a NUL byte, or more than one control character
// in ten. UTF-16 is full of NUL bytes and still text, with a byte order mark or clearly without.
bool looks_binary(std::string_view head) noexcept;

enum class TextEncoding { kUtf8, kUtf16Little, kUtf16Big, kWindows1252 };

// UTF-16, by its mark or because half of the beginning is ASCII in one byte order and nothing there
// is a control character or half a surrogate pair.
std::optional<TextEncoding> utf16_of(std::string_view head) noexcept;

// Decodes text block by block. UTF-8 (byte order mark dropped), UTF-16, else by the first block
// that is not plain ASCII: mostly UTF-8 with damage gets U+FFFD for each broken sequence; text in
// one byte a character is read as Windows-1252, the superset of Latin-1.
class TextDecoder {
 public:
  // Appends valid UTF-8 to `out`; what a block cuts in two waits for the next one, unless this is
  // the `last`. The first block throws kInvalidFile with a short reason when it is no such text.
  void decode(std::string_view bytes, bool last, std::string& out);
  bool replaced() const noexcept { return replaced_; }  // some bytes broke the encoding's rules

 private:
  void begin(std::string_view& bytes);
  std::optional<TextEncoding> encoding_;  // absent while everything was ASCII
  std::string waiting_;                   // at most three bytes
  bool begun_ = false;
  bool replaced_ = false;
};

struct DecodedText {
  std::string text;       // valid UTF-8 without a byte order mark
  bool replaced = false;  // some bytes were not what the text's encoding allows
};

// The whole at once.
DecodedText decode_text(std::string_view bytes);

}  // namespace longformer::io
