// The longest key that starts at each place of a text, in time linear in the text however long the
// keys are.
//
// Aho and Corasick's automaton over the keys read backwards, run over the text from its end: its
// state at a place is the longest beginning-to-be of keys that start there, and the deepest key on
// the state's chain of suffixes is the longest one that starts there.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/models/trie.h"

namespace longformer::text {

class LongestMatch {
 public:
  LongestMatch() = default;
  // Keys must not be empty; of equal keys the first counts.
  explicit LongestMatch(const std::vector<std::pair<std::string_view, int32_t>>& entries);

  // Replaces `places` by one number for each byte of the text, for match().
  void find(std::string_view text, std::vector<uint32_t>& places) const;
  // The longest key that starts there; value kNoValue where none does.
  const Trie::Match& match(uint32_t place) const { return longest_[place]; }

 private:
  uint32_t next(uint32_t node, uint8_t byte) const;

  Trie trie_;                     // of the keys backwards
  std::vector<uint32_t> suffix_;  // the longest proper suffix of a node that is a node
  std::vector<Trie::Match> longest_;
};

}  // namespace longformer::text
