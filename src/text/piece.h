// What a model makes of one word.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace longformer::text {

// A token and the bytes of the word that it stands for, half-open. Byte-level and fallback tokens
// may share or split characters; the caller widens to whole characters.
struct Piece {
  int32_t id;
  uint32_t begin;
  uint32_t end;
};

// Tokens with their ids. Ids are unique, below kMaxVocabulary and may leave gaps.
using Vocabulary = std::vector<std::pair<std::string, int32_t>>;

}  // namespace longformer::text
