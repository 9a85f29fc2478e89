// Cuts normalised text into the words that the model sees one at a time. The steps are those of
// tokenizer.json; each cuts the words of the one before it further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/aligned_text.h"
#include "text/files/json.h"
#include "text/regex.h"

namespace longformer::text {

// What becomes of the places where a pattern matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Words end at White_Space, which is dropped; each punctuation character is a word.
struct BertSplit {};

// Words at the matches of the GPT-2 pattern (gpt2_scanner.h), bytes in the byte-level alphabet.
struct ByteLevelSplit {
  bool add_prefix_space = false;  // in front of each piece of text that has none
  bool use_regex = true;
};

// Spaces become another character, with which words begin.
struct MetaspaceSplit {
  enum class Prepend { kAlways, kFirst, kNever };  // kFirst: only at the beginning of the text
  std::string replacement = "\u2581";              // one character
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

// Each character of a set matches.
struct CharacterSplit {
  enum class Set { kSpace, kPunctuation, kNumeric, kDelimiter };
  Set set = Set::kSpace;
  char32_t delimiter = 0;  // of kDelimiter
  SplitBehavior behavior = SplitBehavior::kRemoved;
};

// Runs of word characters, and runs of what is neither word nor space: the pattern \w+|[^\w\s]+.
struct WordSplit {};

struct PatternSplit {
  enum class Kind { kLiteral, kRegex, kGpt2 };
  Kind kind = Kind::kLiteral;
  std::string literal;
  std::optional<Regex> regex;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // what does not match counts as the match
};

struct LengthSplit {
  uint64_t length = 5;  // characters, at least 1
};

using PreTokenizerStep = std::variant<BertSplit, ByteLevelSplit, MetaspaceSplit, CharacterSplit,
                                      WordSplit, PatternSplit, LengthSplit>;

class PreTokenizer {
 public:
  PreTokenizer() = default;  // the whole text is one word
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  // Whether this is exactly one BertSplit.
  bool is_bert() const;
  // Whether the last step is a ByteLevelSplit: its words are bytes to be read in the alphabet.
  bool ends_with_bytes() const;

  // Replaces `words` by the words of a text, none empty, in order. Where `keep_bytes`, a last
  // ByteLevelSplit leaves the bytes as they are, to be read in the alphabet; it may change the
  // text otherwise, as other steps do. Throws kInvalidFile when a pattern exceeds its limits or
  // steps blow the text up.
  void apply(AlignedText& text, std::vector<WordRange>& words, bool keep_bytes,
             RegexBudget& budget) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

// The member "pre_tokenizer" of tokenizer.json. Throws kInvalidFile or kUnsupported at `place`.
PreTokenizer read_pretokenizer(const Json& json, const std::string& place);

}  // namespace longformer::text
