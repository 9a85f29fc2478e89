#include "text/unicode/python_text.h"

#include <algorithm>

#include "text/unicode/python_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text::unicode {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

bool is(std::u32string_view text, size_t at, uint8_t flag) {
  return (python_flags(text[at]) & flag) != 0;
}

// Behind a cased letter and not in front of one; ignorable characters between do not count.
bool ends_word(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is(text, before - 1, kPythonIgnorable)) --before;
  if (before == 0 || !is(text, before - 1, kPythonCased)) return false;
  size_t after = at + 1;
  while (after < text.size() && is(text, after, kPythonIgnorable)) ++after;
  return after == text.size() || !is(text, after, kPythonCased);
}

}  // namespace

std::string python_lower(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) characters += utf8::next(text, at);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < characters.size(); ++i) {
    const char32_t c = characters[i];
    if (c == kCapitalSigma) {
      utf8::append(ends_word(characters, i) ? kFinalSigma : kSmallSigma, out);
      continue;
    }
    const std::u32string_view lower = lowercase(c);
    if (lower.empty()) utf8::append(c, out);
    for (const char32_t part : lower) utf8::append(part, out);
  }
  return out;
}

std::vector<std::string_view> python_split(std::string_view text) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if ((python_flags(utf8::next(text, at)) & kPythonSpace) == 0) continue;
    if (start > begin) pieces.push_back(text.substr(begin, start - begin));
    begin = at;
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

std::string python_blank_words(std::string_view text, std::span<const std::string_view> words) {
  std::string out;
  out.reserve(text.size());
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    bool in_word = true;
    size_t next = begin;
    while (in_word && end < text.size()) {
      in_word = (python_flags(utf8::next(text, next)) & kPythonWord) != 0;
      if (in_word) end = next;
    }
    const std::string_view word = text.substr(begin, end - begin);
    const bool blank = std::find(words.begin(), words.end(), word) != words.end();
    out += blank ? std::string_view(" ") : word;
    if (end < text.size()) out += text.substr(end, next - end);  // what ended the word
    begin = std::max(next, end);
  }
  return out;
}

}  // namespace longformer::text::unicode
