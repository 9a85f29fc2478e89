// One text through all stages but the template: added tokens, normaliser, pre-tokeniser, model.
//
// Runs of plain ASCII between white space and punctuation take a short way that computes no
// alignment; everything else goes character by character. Both give the same result: no step of a
// normaliser acts across ASCII white space or punctuation.
#pragma once

#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

namespace longformer::text {

class SegmentEncoder {
 public:
  // Keeps references.
  SegmentEncoder(const AddedTokens& added, const Normalizer& normalizer, PreTokenizer pretokenizer,
                 const WordPiece& model);

  // Appends ids and offsets of valid UTF-8 shorter than 4 GiB.
  void encode(std::string_view text, Encoding& out) const;

 private:
  enum class AsciiKind : uint8_t { kWord, kSpace, kPunctuation, kOther };
  struct Scratch;

  void encode_ascii_runs(std::string_view text, size_t offset, Scratch& scratch,
                         Encoding& out) const;
  void encode_ascii_word(std::string_view word, size_t offset, Scratch& scratch,
                         Encoding& out) const;
  void encode_general(std::string_view text, size_t offset, Scratch& scratch, Encoding& out) const;
  void encode_words(size_t begin, size_t end, size_t offset, Scratch& scratch, Encoding& out) const;
  void split_normalized(size_t offset, Scratch& scratch, Encoding& out) const;

  const AddedTokens& added_;
  const Normalizer& normalizer_;
  PreTokenizer pretokenizer_;
  const WordPiece& model_;
  bool ascii_runs_;       // the short way exists
  AsciiKind kinds_[256];  // of bytes; kOther: not ASCII, or dropped by the normaliser
  char mapped_[256];      // normalised form of the bytes of kind kWord
};

}  // namespace longformer::text
