// Text before and after normalisation, character by character with the place in the original that
// each came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text {

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

enum class NormalizerStep : uint8_t {
  kCleanText,         // drop control characters, every kind of space becomes U+0020
  kPadCjk,            // a space on each side of an ideograph
  kDecompose,         // NFD
  kRemoveNonspacing,  // the accents of the BERT normaliser
  kRemoveMarks,       // the StripAccents normaliser
  kLowercase,
};

// A sequence of steps. The same class serves every type in tokenizer.json: a file's "normalizer"
// becomes a list of steps. To add a type: a step here, its function in normalizer.cc, its name in
// tokenizer_json.cc.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  const std::vector<NormalizerStep>& steps() const { return steps_; }
  bool has(NormalizerStep step) const;
  void apply(Characters& characters) const;
  std::string apply_to(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace longformer::text
