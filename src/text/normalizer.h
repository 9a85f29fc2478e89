// Text before and after normalisation, character by character with the place in the original that
// each came from.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace longformer::text {

class Charsmap;

// One character of the normalised text and the bytes [begin, end) of the original that it stands
// for. Characters that a step inserts share the place of the one before them. Positions are
// relative to the piece of text being processed.
struct Character {
  char32_t code;
  uint32_t begin;
  uint32_t end;
};
using Characters = std::vector<Character>;

// Appends the characters of valid UTF-8.
void append_characters(std::string_view text, uint32_t offset, Characters& out);

// Steps without settings.
enum class NormalizerStep : uint8_t {
  kCleanText,            // drop control characters, every kind of space becomes U+0020
  kPadCjk,               // a space on each side of an ideograph
  kDecompose,            // NFD
  kCompose,              // NFC
  kDecomposeCompatible,  // NFKD
  kComposeCompatible,    // NFKC
  kRemoveNonspacing,     // the accents of the BERT normaliser
  kRemoveMarks,          // the StripAccents normaliser
  kLowercase,
  kStripLeft,   // White_Space at the beginning
  kStripRight,  // and at the end
  kNmt,         // control characters and spaces as machine translation models treat them
  kByteLevel,   // each byte of UTF-8 becomes one character of the byte alphabet
  kReplace,     // the steps from here on need the settings of a NormalizerRule
  kPrepend,
  kCharsmap,
};

struct NormalizerRule {
  NormalizerStep step;
  std::string text = {};     // kReplace, kPrepend: what is put in
  std::string literal = {};  // kReplace: what is replaced, where there is no pattern
  std::optional<Regex> pattern = {};
  std::shared_ptr<const Charsmap> charsmap = {};
};

// A sequence of steps. The same class serves every type in tokenizer.json: a file's "normalizer"
// becomes a list of rules. To add a type: a step here, its function in normalizer.cc, its name in
// normalizer_json.cc.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(const std::vector<NormalizerStep>& steps);
  explicit Normalizer(std::vector<NormalizerRule> rules) : rules_(std::move(rules)) {}

  bool empty() const { return rules_.empty(); }
  // Whether every ASCII character is normalised by itself: whatever stands before or behind it and
  // wherever the text was cut. Then apply_to() of single characters says all about ASCII text.
  bool is_local_for_ascii() const;
  // Throws kInvalidFile where a pattern of the file exceeds its limits on this text.
  void apply(Characters& characters, RegexBudget& budget) const;
  std::string apply_to(std::string_view text) const;

 private:
  std::vector<NormalizerRule> rules_;
};

// The member "normalizer" of tokenizer.json. Throws kInvalidFile or kUnsupported at `place`.
Normalizer read_normalizer(const nlohmann::json& json, const std::string& place);

struct BertNormalizerSettings {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents;  // absent: same as lowercase
  bool lowercase = true;
};
std::vector<NormalizerStep> bert_steps(const BertNormalizerSettings& settings);

}  // namespace longformer::text
