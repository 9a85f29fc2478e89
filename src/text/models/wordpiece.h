// The WordPiece model: greedy longest prefix in the vocabulary, continuations under a prefix
// ("##"). If any position fails, or the word is too long, the whole word is the unknown token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/models/longest_match.h"
#include "text/models/trie.h"
#include "text/piece.h"

namespace longformer::text {

struct WordPieceSpec {
  Vocabulary vocabulary;
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";
  uint64_t max_characters = 100;  // of a word, in code points
};

class WordPiece {
 public:
  using Scratch = std::vector<uint32_t>;  // of LongestMatch

  // Throws kInvalidFile at `place` when the unknown token is not in the vocabulary.
  WordPiece(const WordPieceSpec& spec, const std::string& place);

  int32_t unknown_id() const { return unknown_id_; }
  // -1 where the vocabulary lacks the token.
  int32_t id(std::string_view token) const { return trie_.find(token); }

  // Replaces `out` by the pieces of a word, which is UTF-8 of any length.
  void encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const;

 private:
  bool is_too_long(std::string_view word) const;

  Trie trie_;
  uint32_t continuation_;  // the node behind the continuing prefix, or kNowhere
  int32_t unknown_id_;
  uint64_t max_characters_;
  LongestMatch continuations_;  // used only where entries are long
  size_t longest_continuation_ = 0;
};

}  // namespace longformer::text
