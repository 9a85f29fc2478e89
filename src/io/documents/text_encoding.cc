#include "io/documents/text_encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kHeadBytes = 64 << 10;  // by which a file is recognised
constexpr char32_t kReplacement = 0xFFFD;

// Windows-1252 at 0x80 to 0x9F; 0 where it defines nothing.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

struct Sequence {
  size_t length;  // bytes of the character, or of the broken beginning of one (at least 1)
  bool valid;
};

// One character of at least two bytes. A broken one is as long as the part that could still have
// become valid, as the Unicode standard recommends for replacement.
Sequence next_sequence(std::string_view bytes) noexcept {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (length == 0) return {1, false};
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, false};
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1 && first == 0xE0) low = 0xA0;
    if (i == 1 && first == 0xED) high = 0x9F;
    if (i == 1 && first == 0xF0) low = 0x90;
    if (i == 1 && first == 0xF4) high = 0x8F;
    if (at(i) < low || at(i) > high) return {i, false};
  }
  return {length, true};
}

size_t ascii_prefix(std::string_view bytes) noexcept {
  size_t i = 0;
  for (uint64_t block; i + 8 <= bytes.size(); i += 8) {
    std::memcpy(&block, bytes.data() + i, 8);
    if ((block & 0x8080808080808080u) != 0) break;
  }
  while (i < bytes.size() && static_cast<unsigned char>(bytes[i]) < 0x80) ++i;
  return i;
}

// Calls on_text(valid part) and on_broken() alternately over all bytes.
template <typename Text, typename Broken>
void scan(std::string_view bytes, Text on_text, Broken on_broken) {
  while (!bytes.empty()) {
    const size_t valid = valid_utf8_prefix(bytes);
    on_text(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    on_broken();
    bytes.remove_prefix(next_sequence(bytes).length);
  }
}

// Damaged UTF-8 still has more whole multi-byte characters than broken ones.
bool mostly_utf8(std::string_view bytes) {
  size_t whole = 0, broken = 0;
  scan(
      bytes,
      [&](std::string_view text) {
        whole += static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
          return static_cast<unsigned char>(c) >= 0xC2;  // a lead byte
        }));
      },
      [&] { ++broken; });
  return whole > broken;
}

// In Western text most characters are ASCII, and the five undefined codes do not occur.
bool looks_western(std::string_view bytes) {
  size_t high = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) continue;
    ++high;
    if (byte < 0xA0 && kWindows1252[byte - 0x80] == 0) return false;
  }
  return high * 10 <= bytes.size() * 3;
}

void append_windows_1252(std::string_view bytes, std::string& out) {
  out.reserve(out.size() + bytes.size() + bytes.size() / 8);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(out, byte >= 0x80 && byte < 0xA0 ? kWindows1252[byte - 0x80] : byte);
  }
}

// Returns whether something was replaced.
bool append_repaired_utf8(std::string_view bytes, std::string& out) {
  bool replaced = false;
  scan(
      bytes, [&](std::string_view text) { out += text; },
      [&] {
        append_utf8(out, kReplacement);
        replaced = true;
      });
  return replaced;
}

char32_t utf16_unit(std::string_view bytes, size_t i, TextEncoding order) noexcept {
  const auto a = static_cast<unsigned char>(bytes[i]);
  const auto b = static_cast<unsigned char>(bytes[i + 1]);
  return order == TextEncoding::kUtf16Big ? static_cast<char32_t>(a << 8 | b)
                                          : static_cast<char32_t>(b << 8 | a);
}

bool is_high_half(char32_t unit) noexcept { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_half(char32_t unit) noexcept { return unit >= 0xDC00 && unit < 0xE000; }

bool append_utf16(std::string_view bytes, TextEncoding order, std::string& out) {
  bool replaced = false;
  size_t i = 0;
  for (; i + 2 <= bytes.size(); i += 2) {
    char32_t c = utf16_unit(bytes, i, order);
    if (is_high_half(c) || is_low_half(c)) {
      const char32_t low =
          is_high_half(c) && i + 4 <= bytes.size() ? utf16_unit(bytes, i + 2, order) : 0;
      if (is_low_half(low)) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      } else {
        c = kReplacement;
        replaced = true;
      }
    }
    append_utf8(out, c);
  }
  if (i == bytes.size()) return replaced;
  append_utf8(out, kReplacement);  // half a unit at the end
  return true;
}

// Bytes at the end that may be the beginning of a character.
size_t unfinished_utf8(std::string_view bytes) noexcept {
  for (size_t size = 1; size <= 3 && size <= bytes.size(); ++size) {
    const std::string_view tail = bytes.substr(bytes.size() - size);
    if (static_cast<unsigned char>(tail[0]) < 0xC2) continue;
    const Sequence sequence = next_sequence(tail);
    return !sequence.valid && sequence.length == size ? size : 0;
  }
  return 0;
}

size_t unfinished_utf16(std::string_view bytes, TextEncoding order) noexcept {
  const size_t odd = bytes.size() % 2;
  const size_t whole = bytes.size() - odd;
  return whole >= 2 && is_high_half(utf16_unit(bytes, whole - 2, order)) ? odd + 2 : odd;
}

bool is_layout(char32_t c) noexcept {
  // Tab to carriage return are layout, backspace is how manuals print bold, escape starts terminal
  // colours.
  return (c >= 0x08 && c <= 0x0D) || c == 0x1B;
}

bool is_clearly_utf16(std::string_view head, TextEncoding order) noexcept {
  size_t ascii = 0, units = 0;
  for (size_t i = 0; i + 2 <= head.size(); i += 2, ++units) {
    const char32_t c = utf16_unit(head, i, order);
    if ((c < 0x20 && !is_layout(c)) || c >= 0xFFFE || is_low_half(c)) return false;
    if (c < 0x7F) ++ascii;
    if (is_high_half(c) && i + 4 <= head.size()) {
      if (!is_low_half(utf16_unit(head, i + 2, order))) return false;
      i += 2;
    }
  }
  return units >= 4 && 2 * ascii >= units;
}

// Of bytes that are not all ASCII.
std::optional<TextEncoding> recognise(std::string_view bytes) {
  if (valid_utf8_prefix(bytes) == bytes.size() || mostly_utf8(bytes)) return TextEncoding::kUtf8;
  if (looks_western(bytes)) return TextEncoding::kWindows1252;
  return std::nullopt;
}

}  // namespace

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

size_t valid_utf8_prefix(std::string_view bytes) noexcept {
  size_t done = 0;
  for (;;) {
    done += ascii_prefix(bytes.substr(done));
    if (done == bytes.size()) return done;
    const Sequence sequence = next_sequence(bytes.substr(done));
    if (!sequence.valid) return done;
    done += sequence.length;
  }
}

bool looks_binary(std::string_view head) noexcept {
  if (utf16_of(head)) return false;
  size_t control = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return true;
    if ((byte < 0x20 && !is_layout(byte)) || byte == 0x7F) ++control;
  }
  return control * 10 > head.size();
}

std::optional<TextEncoding> utf16_of(std::string_view head) noexcept {
  if (head.starts_with("\xFF\xFE")) return TextEncoding::kUtf16Little;
  if (head.starts_with("\xFE\xFF")) return TextEncoding::kUtf16Big;
  head = head.substr(0, kHeadBytes);
  for (const TextEncoding order : {TextEncoding::kUtf16Little, TextEncoding::kUtf16Big}) {
    if (is_clearly_utf16(head, order)) return order;
  }
  return std::nullopt;
}

void TextDecoder::begin(std::string_view& bytes) {
  begun_ = true;
  if (const auto utf16 = utf16_of(bytes)) {
    encoding_ = utf16;
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) bytes.remove_prefix(2);
    std::string head;
    append_utf16(bytes.substr(0, kHeadBytes), *utf16, head);
    if (looks_binary(head)) throw Error(ErrorCode::kInvalidFile, "binary");
  } else if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
    encoding_ = TextEncoding::kUtf8;
  }
}

void TextDecoder::decode(std::string_view bytes, bool last, std::string& out) {
  std::string joined;
  if (!waiting_.empty()) {
    joined = std::exchange(waiting_, {}) + std::string(bytes);
    bytes = joined;
  }
  const bool first = !begun_;
  if (first) begin(bytes);
  const bool utf16 =
      encoding_ == TextEncoding::kUtf16Little || encoding_ == TextEncoding::kUtf16Big;
  if (!last) {
    const size_t unfinished = utf16 ? unfinished_utf16(bytes, *encoding_)
                              : encoding_ == TextEncoding::kWindows1252 ? 0
                                                                        : unfinished_utf8(bytes);
    waiting_ = bytes.substr(bytes.size() - unfinished);
    bytes.remove_suffix(unfinished);
  }
  if (!encoding_ && ascii_prefix(bytes) != bytes.size()) {
    encoding_ = recognise(bytes);
    if (!encoding_ && first) {
      throw Error(ErrorCode::kInvalidFile,
                  "neither UTF-8, UTF-16 nor Windows-1252 text; convert it to UTF-8");
    }
    // What began as ASCII is read on.
    if (!encoding_) encoding_ = TextEncoding::kUtf8;
  }
  if (utf16) {
    replaced_ |= append_utf16(bytes, *encoding_, out);
  } else if (encoding_ == TextEncoding::kWindows1252) {
    append_windows_1252(bytes, out);
    replaced_ = true;
  } else {
    replaced_ |= append_repaired_utf8(bytes, out);
  }
}

DecodedText decode_text(std::string_view bytes) {
  TextDecoder decoder;
  DecodedText result;
  result.text.reserve(bytes.size());
  decoder.decode(bytes, true, result.text);
  result.replaced = decoder.replaced();
  return result;
}

}  // namespace longformer::io
