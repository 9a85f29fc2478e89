// Any of the models: words to pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/models/bpe.h"
#include "text/models/unigram.h"
#include "text/models/word_level.h"
#include "text/models/wordpiece.h"
#include "text/piece.h"

namespace longformer::text {

using ModelSpec = std::variant<WordPieceSpec, BpeSpec, UnigramSpec, WordLevelSpec>;

class Model {
 public:
  struct Scratch {
    WordPiece::Scratch wordpiece;
    Bpe::Scratch bpe;
    Unigram::Scratch unigram;
  };

  // Throws kInvalidFile at `place` for a specification that cannot be used.
  Model(const ModelSpec& spec, const std::string& place);

  int32_t id(std::string_view token) const;  // -1 where the vocabulary lacks it
  std::optional<int32_t> unknown_id() const;
  // The unknown id where the reference gives its tokens the text that they stand for, else -1.
  int32_t literal_unknown_id() const;
  // Whether pieces behind the first of a word have a prefix.
  bool marks_continuations() const { return marks_continuations_; }
  // The model as byte pair encoding that can spell each byte, else null.
  const Bpe* byte_level() const;

  // Replaces `out` by the pieces of a word (UTF-8, not empty).
  void encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const;

 private:
  std::variant<WordPiece, Bpe, Unigram, WordLevel> model_;
  bool marks_continuations_;
};

// Tokens and ids of a specification, which loses them.
Vocabulary take_vocabulary(ModelSpec& spec);

}  // namespace longformer::text
