// A document cut into passages: groups of consecutive sentences within a token budget.
//
// Paragraphs are separated by blank lines and form feeds. A passage ends with a paragraph wherever
// that is possible: paragraphs are joined until a passage has join_tokens, because a line of a list
// or a remark of ten words is easily taken for something else; a paragraph over the budget becomes
// several passages of about equal size. A paragraph of fewer than heading_tokens tokens (a heading,
// a term) is kept with what stands below it. A sentence over the budget (a log, a table) is cut
// into its lines, and a line over the budget at white space, else between two tokens.
//
// Every byte of the document that is not white space lies in exactly one sentence and one passage;
// so does every token that does not stand for white space alone. Linear in the length of the
// document.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tasks/scan.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

inline constexpr int64_t kPassageTokens = 192;   // default budget, special tokens not counted
inline constexpr int64_t kMinPassageTokens = 8;  // smallest budget
inline constexpr int64_t kJoinShare = 2;         // by default, join_tokens is the budget over this
inline constexpr int64_t kHeadingTokens = 8;

struct PassageOptions {
  int64_t passage_tokens = kPassageTokens;
  int64_t join_tokens = kPassageTokens / kJoinShare;
  int64_t heading_tokens = kHeadingTokens;
};

// Half-open ranges: bytes of the document, tokens of its tokenisation without special tokens.
struct Sentence {
  ByteRange bytes;
  int64_t token_begin = 0;
  int64_t token_end = 0;
  int64_t tokens() const { return token_end - token_begin; }
};

struct Passage {
  ByteRange bytes;
  int64_t line_begin = 0;  // first and last line, counted from 1
  int64_t line_end = 0;
  int64_t token_begin = 0;
  int64_t token_end = 0;
  int64_t sentence_begin = 0;  // into Segmentation::sentences
  int64_t sentence_end = 0;
  int64_t tokens() const { return token_end - token_begin; }
};

struct Segmentation {
  std::vector<Sentence> sentences;
  std::vector<Passage> passages;
};

// `offsets` are the bytes of each token of `text`, begins not decreasing. Throws kInvalidArgument
// when passage_tokens is below kMinPassageTokens.
Segmentation segment(std::string_view text, std::span<const text::Offset> offsets,
                     const PassageOptions& options = {});

// Paragraphs alone, without white space at their ends.
std::vector<ByteRange> split_paragraphs(std::string_view text);

}  // namespace longformer::tasks
