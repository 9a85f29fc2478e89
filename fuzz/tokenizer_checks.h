// What holds for every tokenizer that loads and for every text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "longformer/error.h"
#include "text/tokenizer.h"
#include "text/unicode/utf8.h"

namespace longformer::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// Spans lie in the text on borders of characters, ids have names, all lists have one length.
inline void check_encoding(const text::Tokenizer& tokenizer, std::string_view text,
                           const text::Encoding& encoding) {
  const size_t size = encoding.size();
  require(encoding.type_ids.size() == size && encoding.offsets.size() == size);
  require(encoding.sequence.size() == size && encoding.words.size() == size);
  for (size_t i = 0; i < size; ++i) {
    const auto [begin, end] = encoding.offsets[i];
    require(begin >= 0 && begin <= end && end <= static_cast<int64_t>(text.size()));
    require((encoding.sequence[i] < 0) == (encoding.words[i] < 0));
    tokenizer.token(encoding.ids[i]);
  }
  std::vector<text::Offset> offsets = encoding.offsets;
  try {
    text::convert_offsets(text, text::OffsetUnit::kUtf16, offsets);
  } catch (const Error&) {
    std::abort();  // inside a character
  }
}

// Patterns of the file may refuse a text; that is all they may do.
inline void check_text(const text::Tokenizer& tokenizer, std::string_view text) {
  text::Encoding encoding;
  try {
    encoding = tokenizer.encode(text);
  } catch (const Error&) {
    return;
  }
  check_encoding(tokenizer, text, encoding);
  try {
    const std::string decoded = tokenizer.decode(encoding.ids, false);
    require(text::utf8::valid_prefix(decoded) == decoded.size());
  } catch (const Error&) {  // a decoder that would blow the text up
  }
  text::TruncationSettings cut;
  cut.max_length = 300;
  cut.stride = 1;
  try {
    for (const text::Encoding& window : tokenizer.encode_windows(text, text, {}, cut)) {
      require(window.size() <= 300);
      check_encoding(tokenizer, text, window);
    }
  } catch (const Error&) {  // no template for pairs, or one that leaves no room
  }
}

// A tokenizer of a file: the empty text, a text, and its first tokens as texts.
inline void check_tokenizer(const text::Tokenizer& tokenizer, std::string_view text) {
  check_text(tokenizer, "");
  check_text(tokenizer, text);
  const int64_t ids = std::min<int64_t>(tokenizer.vocabulary_size(), 64);
  for (int64_t id = 0; id < ids; ++id) {
    std::string token;
    try {
      token = tokenizer.token(id);
    } catch (const Error&) {
      continue;  // a gap
    }
    check_text(tokenizer, token);
  }
}

}  // namespace longformer::fuzz
