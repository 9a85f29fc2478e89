// Added tokens: strings that become one token wherever they occur, before anything else is done.
// Those with normalized = false are searched in the raw text, the others in the normalised text
// between them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/models/longest_match.h"
#include "text/models/trie.h"
#include "text/normalizer.h"

namespace longformer::text {

struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // absorbs the white space to its left
  bool rstrip = false;       // and to its right
  bool normalized = true;
  bool special = false;  // left out by decode(skip_special_tokens)
  bool operator==(const AddedToken&) const = default;
};

// A stretch of text; id -1: not an added token.
struct Split {
  size_t begin;  // bytes
  size_t end;
  int32_t id;
};

// Finds one group of added tokens: leftmost first, the longest at each place.
class AddedTokenMatcher {
 public:
  struct Pattern {
    std::string text;
    int32_t id;
    bool single_word;
    bool lstrip;
    bool rstrip;
  };
  explicit AddedTokenMatcher(std::vector<Pattern> patterns);
  bool empty() const { return patterns_.empty(); }
  // Replaces `out` by the splits of valid UTF-8, empty ones left out. They cover the text, in
  // order; where a token that starts with white space follows one with rstrip they overlap, as in
  // the reference.
  void split(std::string_view text, std::vector<Split>& out) const;

 private:
  size_t find_first_byte(std::string_view text, size_t at) const;

  std::vector<Pattern> patterns_;
  Trie trie_;                                  // to places in patterns_
  std::optional<LongestMatch> long_patterns_;  // the same, where walks could be long
  bool starts_[256] = {};
};

class AddedTokens {
 public:
  // Ids as the reference gives them: a token of the model keeps its id, any other gets the next
  // free one from `model_size` (its number of entries) on. `model_id` returns -1 for a token that
  // the model lacks, `is_model_id` tells ids that it uses. Throws kInvalidFile at `place` when such
  // an id is taken.
  AddedTokens(const std::vector<AddedToken>& tokens, const Normalizer& normalizer,
              int64_t model_size, const std::function<int32_t(std::string_view)>& model_id,
              const std::function<bool(int64_t)>& is_model_id, const std::string& place);

  const AddedTokenMatcher& raw() const { return raw_; }
  const AddedTokenMatcher& normalized() const { return normalized_; }
  const std::unordered_map<std::string, int32_t>& ids() const { return ids_; }
  bool is_special(const std::string& content) const { return special_.contains(content); }

 private:
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_set<std::string> special_;
  AddedTokenMatcher raw_{{}};
  AddedTokenMatcher normalized_{{}};
};

}  // namespace longformer::text
