// The Unigram model (SentencePiece): the segmentation of a word with the highest sum of scores.
//
// Viterbi over characters, in double precision: from each start, every piece that starts there, in
// increasing length; a candidate replaces only where it is strictly better, so the first found wins
// a tie. A character that no piece covers alone is an unknown step of score min - 10. Unknown steps
// in a row (the unknown token spelled out in the text counts as one) become one token: the piece
// that they spell, if there is one, else with `byte_fallback` the <0xXX> pieces of their bytes
// where the vocabulary has all of them, else the unknown token. Pieces of every type match; of
// equal pieces the last counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/models/trie.h"
#include "text/piece.h"

namespace longformer::text {

struct UnigramSpec {
  std::vector<std::pair<std::string, double>> pieces;  // id = place in the list
  std::optional<int64_t> unknown_id;
  bool byte_fallback = false;
};

class Unigram {
 public:
  struct Scratch {
    std::vector<double> best;    // score of the best way to each byte
    std::vector<int64_t> steps;  // where its last piece starts (high half) and its id; -1: no way
  };

  // Throws kInvalidFile at `place`: scores that are not finite, an unknown id outside the list, a
  // list over the limits.
  Unigram(UnigramSpec spec, const std::string& place);

  std::optional<int32_t> unknown_id() const;
  int32_t id(std::string_view token) const;  // -1 where the vocabulary lacks it
  size_t size() const;

  // Replaces `out` by the pieces of a word (UTF-8, any length). Linear in its length times the
  // longest piece. Throws kInvalidFile where the word needs an unknown token and there is none, as
  // the reference does.
  void encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const;

 private:
  void find_best(std::string_view word, Scratch& scratch) const;
  void append_unknown(std::string_view word, uint32_t begin, uint32_t end,
                      std::vector<Piece>& out) const;

  std::string place_;
  Trie trie_;
  std::vector<double> scores_;
  std::optional<int32_t> unknown_id_;
  double unknown_score_ = 0;
  std::vector<int32_t> byte_ids_;  // with byte_fallback 256, -1 where the vocabulary lacks a byte
};

}  // namespace longformer::text
