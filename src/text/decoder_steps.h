// The steps of a decoder. Each maps the list of tokens to another list; after the last one the
// tokens are joined with nothing between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "text/regex.h"

namespace longformer::text {

using TokenTexts = std::vector<std::string>;

struct SpacesStep {};  // a space before each token but the first

struct WordPieceStep {
  std::string prefix;    // of continuations; every other token but the first gets a space
  bool cleanup = false;  // no space before punctuation and English contractions
};

struct ByteLevelStep {};     // one token: the alphabet back to bytes, U+FFFD for what is not UTF-8
struct ByteFallbackStep {};  // runs of <0xXX> to text, or to one U+FFFD each
struct FuseStep {};          // one token

struct MetaspaceStep {
  std::string replacement;  // becomes a space
  bool prepend = true;      // nothing instead, in the first token
};

struct StripStep {
  std::string content;  // one character
  uint64_t start = 0;   // how many of them go at most, at either end of each token
  uint64_t stop = 0;
};

struct ReplaceStep {
  std::string text;            // what is replaced, or
  std::optional<Regex> regex;  // what matches
  std::string content;
};

struct BpeStep {
  std::string suffix;  // becomes a space, in the last token nothing
};

struct CtcStep {
  std::string pad_token;
  std::string word_delimiter;
  bool cleanup = false;
};

using DecoderStep = std::variant<SpacesStep, WordPieceStep, ByteLevelStep, ByteFallbackStep,
                                 FuseStep, MetaspaceStep, StripStep, ReplaceStep, BpeStep, CtcStep>;

// `max_bytes`: of all tokens together, kInvalidFile above it.
void apply(const DecoderStep& step, TokenTexts& tokens, size_t max_bytes);

}  // namespace longformer::text
