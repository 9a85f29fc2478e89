#include "tasks/scan.h"

#include <algorithm>

namespace longformer::tasks {

CodePoint decode_at(std::string_view text, size_t position) noexcept {
  constexpr char32_t kReplacement = 0xFFFD;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(position);
  if (first < 0x80) return {first, 1};
  const int size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || position + static_cast<size_t>(size) > text.size()) {
    return {kReplacement, 1};
  }
  char32_t value = first & (0x7F >> size);
  for (int i = 1; i < size; ++i) {
    const unsigned char next = byte(position + static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) return {kReplacement, 1};
    value = value << 6 | (next & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {kReplacement, 1};
  return {value, size};
}

bool is_space(char32_t c) noexcept {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace {

// Start of the last character of text[begin, end), end > begin.
int64_t last_character(std::string_view text, int64_t begin, int64_t end) noexcept {
  for (int64_t start = std::max(begin, end - 4); start < end - 1; ++start) {
    if (start + decode_at(text, static_cast<size_t>(start)).size == end) return start;
  }
  return end - 1;
}

}  // namespace

ByteRange trim(std::string_view text, ByteRange range) noexcept {
  while (range.begin < range.end) {
    const CodePoint c = decode_at(text, static_cast<size_t>(range.begin));
    if (!is_space(c.value)) break;
    range.begin += c.size;
  }
  while (range.begin < range.end) {
    const int64_t start = last_character(text, range.begin, range.end);
    if (!is_space(decode_at(text, static_cast<size_t>(start)).value)) break;
    range.end = start;
  }
  if (range.begin >= range.end) range.begin = range.end;
  return range;
}

bool is_blank(std::string_view text, ByteRange range) noexcept {
  while (range.begin < range.end) {
    const CodePoint c = decode_at(text, static_cast<size_t>(range.begin));
    if (!is_space(c.value)) return false;
    range.begin += c.size;
  }
  return true;
}

}  // namespace longformer::tasks
