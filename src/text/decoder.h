// Tokens back to text.
#pragma once

#include <string>
#include <vector>

namespace longformer::text {

struct Decoder {
  enum class Kind {
    kSpaces,     // tokens joined by spaces
    kWordPiece,  // continuations joined without their prefix; clean-up of spaces before punctuation
  };
  Kind kind = Kind::kSpaces;
  std::string prefix = "##";
  bool cleanup = true;

  std::string decode(std::vector<std::string> tokens) const;
};

}  // namespace longformer::text
