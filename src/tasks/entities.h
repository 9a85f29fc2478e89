// Labels of tokens to entities, as the reference's token-classification pipeline groups them: which
// tokens make a word, which label a word has, which words make an entity. Nothing here knows texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace longformer::tasks {

// What is labelled: tokens, or words, whose label is that of their first token, that of the mean of
// their tokens' scores, or that of the token with the highest score.
enum class Aggregation {
  kNone,    // tokens, not grouped to entities
  kSimple,  // tokens
  kFirst,
  kAverage,
  kMax,
};

enum class LabelScheme {
  // The reference's rule, for any labels: B-X begins an entity; I-X and labels without these
  // prefixes go on with an entity of the same name in front of them, else they begin one.
  kBio,
  // E- or L- (the last of an entity), S- or U- (all of one) and M- (inside) are known as well.
  // After the end of an entity a new one begins. Labels without a prefix are as under kBio.
  kBioes,
};
// kBioes where some X has a B- or I- label and an E-, L-, S- or U- one, else kBio.
LabelScheme detect_scheme(std::span<const std::string> labels);

// The scores of the tokens of a text, one label after the other: the best, and where a mean is to
// be formed all of them.
class TokenScores {
 public:
  // `keep_all`: for Aggregation::kAverage.
  TokenScores(size_t tokens, size_t labels, bool keep_all);
  // `scores`: one a label.
  void set(size_t token, std::span<const double> scores);
  void copy(size_t token, const TokenScores& from, size_t from_token);

  size_t tokens() const { return best_.size(); }
  size_t labels() const { return labels_; }
  uint32_t label(size_t token) const { return best_[token].label; }
  float score(size_t token) const { return best_[token].score; }
  std::span<const float> all(size_t token) const;  // kept ones only

 private:
  struct Best {
    uint32_t label = 0;
    float score = 0;
  };
  size_t labels_;
  std::vector<Best> best_;
  std::vector<float> all_;
};

// Tokens [begin, end) with one label.
inline constexpr size_t kNoLabel = std::numeric_limits<size_t>::max();
struct LabelledTokens {
  size_t begin = 0;
  size_t end = 0;
  size_t label = kNoLabel;
  float score = 0;
};
// The label of tokens that make one word (not of kNone's and kSimple's choosing: as kFirst there).
LabelledTokens label_word(const TokenScores& scores, size_t begin, size_t end,
                          Aggregation aggregation);
// One a token under kNone and kSimple, else one a word. `continues`: one a token, 1: it belongs to
// the word of the token in front of it.
std::vector<LabelledTokens> label_tokens(const TokenScores& scores,
                                         std::span<const uint8_t> continues,
                                         Aggregation aggregation);

class LabelRules {
 public:
  LabelRules(std::span<const std::string> labels, LabelScheme scheme);
  // What an entity that begins with this label is called: what stands behind the first hyphen of
  // the label, or all of it.
  const std::string& name(size_t label) const { return names_[label]; }
  // Whether units with these labels, one behind the other, belong together.
  bool joins(size_t previous, size_t label) const;

 private:
  enum class Kind : uint8_t { kBegin, kInside, kLast, kOnly };
  struct Rule {
    Kind kind = Kind::kInside;
    size_t type = 0;  // equal where the reference sees the same tag
  };
  std::vector<std::string> names_;
  std::vector<Rule> rules_;
};

// Units [begin, end) that make an entity.
struct LabelGroup {
  size_t begin = 0;
  size_t end = 0;
  double score = 0;  // the mean
};
// Every unit is in a group, those labelled O too; units without a label (kNoLabel) are in none, and
// part what stands around them.
std::vector<LabelGroup> group_labels(std::span<const LabelledTokens> units,
                                     const LabelRules& rules);

// What the reference does with entities of windows that overlap, sorted by where they begin: of
// those that overlap the one kept so far, the longer one is kept, of equals the one with the higher
// score. Returns which are kept, in order.
struct ScoredRange {
  int64_t begin = 0;
  int64_t end = 0;
  double score = 0;
};
std::vector<size_t> drop_overlapping(std::span<const ScoredRange> sorted);

}  // namespace longformer::tasks
