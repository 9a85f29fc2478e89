// UTF-8 in and out. Everything behind Tokenizer::encode sees valid UTF-8 only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

// Decodes the character at text[at] of valid UTF-8 and moves `at` behind it.
inline char32_t next(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  if (lead < 0x80) {
    at += 1;
    return lead;
  }
  if (lead < 0xE0) {
    at += 2;
    return (lead & 0x1Fu) << 6 | (byte(at - 1) & 0x3Fu);
  }
  if (lead < 0xF0) {
    at += 3;
    return (lead & 0x0Fu) << 12 | (byte(at - 2) & 0x3Fu) << 6 | (byte(at - 1) & 0x3Fu);
  }
  at += 4;
  return (lead & 0x07u) << 18 | (byte(at - 3) & 0x3Fu) << 12 | (byte(at - 2) & 0x3Fu) << 6 |
         (byte(at - 1) & 0x3Fu);
}

// Start of the character that ends at `end` > 0 in valid UTF-8.
inline size_t previous(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80);
  return end;
}

inline void append(char32_t c, std::string& out) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

// One step through any bytes: a valid character, or one maximal bad subsequence (length 1 to 3).
struct Step {
  size_t length;
  bool valid;
};
Step step(std::string_view text, size_t at);

// Length of the longest valid prefix.
size_t valid_prefix(std::string_view text);

// A copy in which each maximal bad subsequence is U+FFFD, and the way back to positions of the
// original.
class Repaired {
 public:
  explicit Repaired(std::string_view text);
  const std::string& text() const { return text_; }
  // Original position of a position of text(), which must be on a character border.
  int64_t original(int64_t position) const;

 private:
  std::string text_;
  // After each replacement: position in text_ and the same position of the original, ascending.
  std::vector<int64_t> here_;
  std::vector<int64_t> there_;
};

}  // namespace longformer::text::utf8
