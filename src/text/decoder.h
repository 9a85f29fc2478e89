// Tokens back to text.
#pragma once

#include <string>
#include <vector>

#include "text/decoder_steps.h"
#include "text/files/json.h"

namespace longformer::text {

// A list of steps, as the "decoder" of a tokenizer.json is one step or a sequence of them. To add a
// type: its step in decoder_steps, its name in from_json().
class Decoder {
 public:
  Decoder();  // tokens joined by spaces: what a file without a decoder means
  static Decoder word_piece(std::string prefix, bool cleanup);
  static Decoder byte_level();
  // `replacement`: one character. It becomes a space; in the first token it vanishes where the
  // pre-tokeniser has put one there (prepend).
  static Decoder metaspace(std::string replacement, bool prepend);
  // Throws at `place`: kInvalidFile for a broken decoder, kUnsupported for an unknown type.
  static Decoder from_json(const Json& json, const std::string& place);

  // Valid UTF-8. Throws kInvalidFile where the steps would blow the tokens up to a multiple that no
  // honest file needs.
  std::string decode(std::vector<std::string> tokens) const;

 private:
  explicit Decoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}
  std::vector<DecoderStep> steps_;
};

}  // namespace longformer::text
