#include "text/gpt2_scanner.h"

#include <array>
#include <cstdint>

#include "text/unicode/scanner_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

enum class Kind : uint8_t { kLetter, kNumber, kSpace, kOther };

Kind kind_of(char32_t c) {
  if (unicode::flags(c) & unicode::kSpace) return Kind::kSpace;
  const uint8_t classes = unicode::classes(c);
  if (classes & unicode::kLetter) return Kind::kLetter;
  return classes & unicode::kNumber ? Kind::kNumber : Kind::kOther;
}

constexpr std::array<Kind, 128> make_ascii() {
  std::array<Kind, 128> kinds{};
  for (size_t c = 0; c < 128; ++c) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    kinds[c] = letter   ? Kind::kLetter
               : number ? Kind::kNumber
               : space  ? Kind::kSpace
                        : Kind::kOther;
  }
  return kinds;
}
constexpr std::array<Kind, 128> kAscii = make_ascii();

// Kind of the character at `at`, which moves behind it.
Kind next_kind(std::string_view text, size_t& at) {
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < 0x80) {
    ++at;
    return kAscii[byte];
  }
  return kind_of(utf8::next(text, at));
}

size_t run_end(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    size_t next = at;
    if (next_kind(text, next) != kind) break;
    at = next;
  }
  return at;
}

// Length of a contraction behind an apostrophe, 0 for none.
size_t contraction(std::string_view rest) {
  if (rest.empty()) return 0;
  const std::string_view two = rest.substr(0, 2);
  if (two == "re" || two == "ve" || two == "ll") return 2;
  return rest[0] == 's' || rest[0] == 't' || rest[0] == 'm' || rest[0] == 'd' ? 1 : 0;
}

}  // namespace

size_t next_gpt2_match(std::string_view text, size_t at) {
  if (text[at] == '\'') {
    const size_t length = contraction(text.substr(at + 1));
    if (length > 0) return at + 1 + length;
  }
  // One space may lead a run of anything but white space.
  size_t first = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  size_t behind = first;
  Kind kind = next_kind(text, behind);
  if (kind != Kind::kSpace) return run_end(text, behind, kind);
  // White space; its last character is left for what follows, where it is not the only one.
  const size_t end = run_end(text, at, Kind::kSpace);
  if (end == text.size()) return end;
  const size_t last = utf8::previous(text, end);
  return last > at ? last : end;
}

}  // namespace longformer::text
