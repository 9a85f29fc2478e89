#include "text/unicode/utf8.h"

#include <algorithm>
#include <cstring>

namespace longformer::text::utf8 {

Step step(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return {1, true};
  size_t length = 0;
  uint8_t low =
      0x80;  // bounds of the second byte: they exclude overlong forms, surrogates and > U+10FFFF
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= text.size()) return {i, false};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    if (byte < low || byte > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

size_t valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size()) {
      uint64_t word;
      std::memcpy(&word, text.data() + at, 8);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const Step s = step(text, at);
    if (!s.valid) return at;
    at += s.length;
  }
  return at;
}

Repaired::Repaired(std::string_view text) {
  text_.reserve(text.size() + 64);
  size_t at = 0;
  while (at < text.size()) {
    const size_t good = valid_prefix(text.substr(at));
    text_.append(text.substr(at, good));
    at += good;
    if (at == text.size()) break;
    at += step(text, at).length;
    append(kReplacement, text_);
    here_.push_back(static_cast<int64_t>(text_.size()));
    there_.push_back(static_cast<int64_t>(at));
  }
}

int64_t Repaired::original(int64_t position) const {
  const auto after = std::upper_bound(here_.begin(), here_.end(), position);
  if (after == here_.begin()) return position;
  const size_t i = static_cast<size_t>(after - here_.begin()) - 1;
  return there_[i] + (position - here_[i]);
}

}  // namespace longformer::text::utf8
