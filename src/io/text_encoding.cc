#include "io/text_encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Windows-1252 at 0x80 to 0x9F; 0 where it defines nothing.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

bool has_utf16_mark(std::string_view bytes) noexcept {
  return bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
}

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

DecodedText from_windows_1252(std::string_view bytes) {
  DecodedText result{{}, true};
  result.text.reserve(bytes.size() + bytes.size() / 8);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(result.text, byte >= 0x80 && byte < 0xA0 ? kWindows1252[byte - 0x80] : byte);
  }
  return result;
}

DecodedText with_replacements(std::string_view bytes) {
  DecodedText result{{}, true};
  result.text.reserve(bytes.size() + 64);
  scan(
      bytes, [&](std::string_view text) { result.text += text; },
      [&] { append_utf8(result.text, kReplacement); });
  return result;
}

DecodedText from_utf16(std::string_view bytes) {
  const bool big = bytes[0] == '\xFE';
  DecodedText result;
  result.text.reserve(bytes.size());
  const auto unit = [&](size_t i) -> char32_t {
    const auto a = static_cast<unsigned char>(bytes[i]);
    const auto b = static_cast<unsigned char>(bytes[i + 1]);
    return big ? static_cast<char32_t>(a << 8 | b) : static_cast<char32_t>(b << 8 | a);
  };
  size_t i = 2;
  for (; i + 2 <= bytes.size(); i += 2) {
    char32_t c = unit(i);
    if (c >= 0xD800 && c <= 0xDFFF) {
      const char32_t low = c < 0xDC00 && i + 4 <= bytes.size() ? unit(i + 2) : 0;
      if (low >= 0xDC00 && low <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      } else {
        c = kReplacement;
        result.replaced = true;
      }
    }
    append_utf8(result.text, c);
  }
  if (i != bytes.size()) {  // half a unit at the end
    append_utf8(result.text, kReplacement);
    result.replaced = true;
  }
  return result;
}

}  // namespace

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
  if (has_utf16_mark(head)) return false;
  size_t control = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return true;
    // Tab to carriage return are layout, backspace is how manuals print bold, escape starts
    // terminal colours.
    const bool layout = byte >= 0x08 && byte <= 0x0D;
    if ((byte < 0x20 && !layout && byte != 0x1B) || byte == 0x7F) ++control;
  }
  return control * 10 > head.size();
}

DecodedText decode_text(std::string bytes) {
  if (has_utf16_mark(bytes)) {
    DecodedText result = from_utf16(bytes);
    if (looks_binary(result.text)) throw Error(ErrorCode::kInvalidFile, "binary");
    return result;
  }
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
  if (valid_utf8_prefix(bytes) == bytes.size()) return {std::move(bytes), false};
  if (mostly_utf8(bytes)) return with_replacements(bytes);
  if (looks_western(bytes)) return from_windows_1252(bytes);
  throw Error(ErrorCode::kInvalidFile,
              "neither UTF-8, UTF-16 nor Latin-1 text; convert it to UTF-8");
}

}  // namespace longformer::io
