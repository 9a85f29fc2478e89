// Byte pair encoding: a word starts as its characters (or bytes, in the byte-level alphabet), and
// the adjacent pair with the lowest rank is merged, the leftmost of equals, until no pair is left
// that has a rank. n log n in the length of a word.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/models/merge_table.h"
#include "text/models/trie.h"
#include "text/models/word_cache.h"
#include "text/piece.h"

namespace longformer::text {

struct BpeSpec {
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::optional<std::string> unknown_token;  // none: what the vocabulary cannot spell is dropped
  std::string continuing_prefix;             // of every character but the first
  std::string word_suffix;                   // of the last one
  bool fuse_unknown = false;                 // unknown characters in a row become one token
  bool byte_fallback = false;                // <0xXX> for the bytes of an unknown character
  bool ignore_merges = false;                // a word that is a token is that token
};

class Bpe {
 public:
  struct Symbol {
    int32_t id;
    uint32_t length;  // bytes of the word; 0: merged into the one before it
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    int32_t id;
  };
  struct Scratch {
    WordCache cache;
    std::vector<Symbol> symbols;
    std::vector<Candidate> queue;
    std::vector<uint32_t> ranks;
  };

  // Throws at `place`: kInvalidFile for merges of tokens that the vocabulary lacks, kUnsupported
  // for byte_fallback with a prefix or suffix (the reference spells that in bytes too, and its
  // spans leave the text).
  Bpe(const BpeSpec& spec, std::string place);

  std::optional<int32_t> unknown_id() const;
  int32_t id(std::string_view token) const { return trie_.find(token); }
  // Whether encode_bytes() can be used: each of the 256 bytes has a token.
  bool spells_bytes() const { return spells_bytes_; }

  // Replaces `out` by the pieces of a word (UTF-8). Throws kInvalidFile where the unknown token is
  // needed and the vocabulary lacks it, as the reference does.
  void encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const;
  // The same for any bytes, each of which stands for its character of the byte-level alphabet.
  void encode_bytes(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const;

 private:
  int32_t character_id(std::string_view character, bool first, bool last) const;
  int32_t byte_word_id(std::string_view word) const;
  bool append_fallback(std::string_view character, std::vector<Symbol>& symbols) const;
  void append_unknown(uint32_t length, std::optional<uint32_t>& pending,
                      std::vector<Symbol>& symbols) const;
  bool split(std::string_view word, std::vector<Symbol>& symbols) const;
  void merge(Scratch& scratch, bool plain) const;
  void merge_by_scanning(Scratch& scratch) const;
  void merge_by_queue(Scratch& scratch) const;
  void push(const std::vector<Symbol>& symbols, int32_t left, std::vector<Candidate>& queue) const;

  std::string place_;
  Trie trie_;
  MergeTable merges_;
  std::optional<std::string> unknown_token_;
  int32_t unknown_id_ = Trie::kNoValue;
  std::string continuing_prefix_;
  std::string word_suffix_;
  bool fuse_unknown_;
  bool ignore_merges_;
  bool byte_fallback_;
  bool scannable_ = true;
  bool spells_bytes_ = false;
  std::array<int32_t, 256> alphabet_ids_{};  // of the characters of the byte-level alphabet
  std::array<int32_t, 256> fallback_ids_{};  // of <0xXX>
};

}  // namespace longformer::text
