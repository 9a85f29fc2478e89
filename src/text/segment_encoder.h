// One text through all stages but the last: added tokens, normaliser, pre-tokeniser, model.
//
// Text that the normaliser leaves alone is never copied. With the BERT pre-tokeniser, runs of plain
// ASCII between white space and punctuation take a short way that computes no alignment. Both give
// what the general way gives: on the short way no step of the normaliser acts across ASCII
// characters.
#pragma once

#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/aligned_text.h"
#include "text/models/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"

namespace longformer::text {

// A token that the reference trims not by its spelling in the vocabulary but by the text that it
// was found in: an added token, or the unknown one of a Unigram model.
struct TokenSpaces {
  size_t token;  // index in the Encoding
  EndSpaces spaces;
};

class SegmentEncoder {
 public:
  // Buffers of one call, reused from text to text (a list of words is one text).
  struct Scratch {
    explicit Scratch(size_t bytes);
    RegexBudget budget;
    std::vector<TokenSpaces> spaces;  // so far, in order
    size_t unread;                    // bytes of added tokens that may still be looked at
    AlignedText text;
    AlignedText part;  // of `text`, between added tokens
    std::vector<WordRange> words;
    std::vector<Piece> pieces;
    std::vector<Split> raw_splits;
    std::vector<Split> splits;
    std::string word;
    Model::Scratch model;
    int32_t next_word = 0;
  };

  // Keeps references. `needs_spaces`: to fill Scratch::spaces.
  SegmentEncoder(const AddedTokens& added, const Normalizer& normalizer,
                 const PreTokenizer& pretokenizer, const Model& model, bool needs_spaces);

  // Whether words are read as bytes, so that no text is unknown.
  bool spells_bytes() const { return byte_model_ != nullptr; }

  // Appends ids, offsets and word numbers (from 0) of valid UTF-8 shorter than 4 GiB.
  void encode(std::string_view text, Scratch& scratch, Encoding& out) const;

 private:
  enum class AsciiKind : uint8_t { kWord, kSpace, kPunctuation, kOther };

  void encode_plain(std::string_view text, size_t offset, Scratch& scratch, Encoding& out) const;
  void encode_ascii_runs(std::string_view text, size_t offset, Scratch& scratch,
                         Encoding& out) const;
  void encode_ascii_word(std::string_view word, size_t offset, Scratch& scratch,
                         Encoding& out) const;
  void encode_general(std::string_view text, size_t offset, Scratch& scratch, Encoding& out) const;
  void split_normalized(Scratch& scratch, Encoding& out) const;
  void append_added(int32_t id, std::string_view spelling, const Offset& offset, Scratch& scratch,
                    Encoding& out) const;
  void encode_words(AlignedText& text, Scratch& scratch, Encoding& out) const;

  const AddedTokens& added_;
  const Normalizer& normalizer_;
  const PreTokenizer& pretokenizer_;
  const Model& model_;
  const Bpe* byte_model_;  // where words are bytes in the byte-level alphabet
  bool needs_spaces_;
  bool ascii_runs_;       // the short way exists
  AsciiKind kinds_[256];  // of bytes; kOther: not ASCII, or not normalised to one byte
  char mapped_[256];      // normalised form of the bytes of kind kWord and kPunctuation
};

}  // namespace longformer::text
