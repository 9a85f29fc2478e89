// The WordPiece model: greedy longest prefix in the vocabulary, continuations under a prefix
// ("##"). If any position fails, or the word is too long, the whole word is the unknown token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/trie.h"

namespace longformer::text {

struct WordPieceSettings {
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";
  uint64_t max_characters = 100;  // of a word, in code points
};

// Tokens with their ids. Ids are unique, below kMaxVocabulary and may leave gaps.
using Vocabulary = std::vector<std::pair<std::string, int32_t>>;

class WordPiece {
 public:
  struct Piece {
    int32_t id;
    size_t begin;  // bytes of the word
    size_t end;
  };

  // Throws kInvalidFile at `place` when the unknown token is not in the vocabulary.
  WordPiece(const Vocabulary& vocabulary, const WordPieceSettings& settings,
            const std::string& place);

  int32_t unknown_id() const { return unknown_id_; }
  uint64_t max_characters() const { return max_characters_; }
  // -1 where the vocabulary lacks the token.
  int32_t id(std::string_view token) const { return trie_.find(token); }

  // Replaces `out` by the pieces of a word, which is UTF-8 of at most max_characters() code points.
  void encode(std::string_view word, std::vector<Piece>& out) const;

 private:
  Trie trie_;
  uint32_t continuation_;  // the node behind the continuing prefix, or kNowhere
  int32_t unknown_id_;
  uint64_t max_characters_;
};

}  // namespace longformer::text
