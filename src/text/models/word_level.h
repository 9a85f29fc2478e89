// The WordLevel model: a word is one token, or unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/models/trie.h"
#include "text/piece.h"

namespace longformer::text {

struct WordLevelSpec {
  Vocabulary vocabulary;
  std::string unknown_token = "<unk>";
};

class WordLevel {
 public:
  WordLevel(const WordLevelSpec& spec, std::string place);

  std::optional<int32_t> unknown_id() const;
  int32_t id(std::string_view token) const { return trie_.find(token); }
  // Replaces `out` by the piece of a word. Throws kInvalidFile for an unknown word where the
  // vocabulary lacks the unknown token, as the reference does.
  void encode(std::string_view word, std::vector<Piece>& out) const;

 private:
  Trie trie_;
  int32_t unknown_id_;
  std::string place_;
};

}  // namespace longformer::text
