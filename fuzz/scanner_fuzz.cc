// The hand-written scanner beside the pattern of GPT-2 in PCRE2: equal pieces for any text. Bad
// UTF-8 is replaced, and so are characters that are letters or numbers only to the scanner, whose
// tables are of a later Unicode version: PCRE2 must not know them at all.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/gpt2_scanner.h"
#include "text/regex.h"
#include "text/unicode/utf8.h"
#include "tokenizer_checks.h"

namespace {

using longformer::fuzz::require;
using longformer::text::Regex;
using longformer::text::RegexMatch;
namespace utf8 = longformer::text::utf8;

// 'x' letter, '1' number, ' ' space, '.' other: by the pieces that the scanner makes.
char scanner_class(const std::string& character) {
  const auto joins = [&](const char* before) {
    return longformer::text::next_gpt2_match(before + character, 0) == character.size() + 1;
  };
  return joins("x") ? 'x' : joins("1") ? '1' : joins(".") ? '.' : ' ';
}

constexpr char32_t kBlock = 0x1000;  // code points that one search looks at

// For the code points of a block: whether a pattern of one character matches.
std::vector<bool> matching(const Regex& pattern, char32_t first) {
  std::string text;
  std::vector<char32_t> at_byte;
  for (char32_t c = first; c < first + kBlock; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    utf8::append(c, text);
    at_byte.resize(text.size(), c);
  }
  std::vector<RegexMatch> found;
  pattern.find_all(text, found);
  std::vector<bool> result(kBlock);
  for (const RegexMatch& match : found) result[at_byte[match.begin] - first] = true;
  return result;
}

// Code points on which the two differ.
std::vector<bool> unknown_characters() {
  const Regex letter(R"(\p{L})", "scanner");
  const Regex number(R"(\p{N})", "scanner");
  const Regex space(R"(\s)", "scanner");
  const Regex unassigned(R"(\p{Cn})", "scanner");
  std::vector<bool> unknown(0x110000);
  for (char32_t first = 0; first < 0x110000; first += kBlock) {
    const std::vector<bool> letters = matching(letter, first);
    const std::vector<bool> numbers = matching(number, first);
    const std::vector<bool> spaces = matching(space, first);
    const std::vector<bool> nothing = matching(unassigned, first);
    for (char32_t i = 0; i < kBlock; ++i) {
      const char32_t c = first + i;
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string character;
      utf8::append(c, character);
      const char kind = letters[i] ? 'x' : numbers[i] ? '1' : spaces[i] ? ' ' : '.';
      if (kind == scanner_class(character)) continue;
      require(nothing[i]);
      unknown[c] = true;
    }
  }
  return unknown;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<bool> unknown = unknown_characters();
  static const Regex pattern(std::string(longformer::text::kGpt2Pattern), "scanner");
  const std::string repaired =
      utf8::Repaired(std::string_view(reinterpret_cast<const char*>(data), size)).text();
  std::string text;
  for (size_t at = 0; at < repaired.size();) {
    const char32_t c = utf8::next(repaired, at);
    utf8::append(unknown[c] ? U'.' : c, text);
  }
  std::vector<RegexMatch> matches;
  pattern.find_all(text, matches);
  size_t at = 0;
  for (const RegexMatch& match : matches) {
    require(match.begin == at);
    at = longformer::text::next_gpt2_match(text, at);
    require(match.end == at);
  }
  require(at == text.size());
  return 0;
}
