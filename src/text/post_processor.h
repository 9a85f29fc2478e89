// What happens to the tokens of one or two texts at the end: spans are trimmed, special tokens go
// around them. Covers TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and
// Sequence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/files/json.h"
#include "text/post_template.h"
#include "text/tokenizer.h"

namespace longformer::text {

// White space at the ends of a token's text, in characters.
struct EndSpaces {
  size_t leading = 0;
  size_t trailing = 0;
};
EndSpaces end_spaces(std::string_view token);

struct PostProcessor {
  PostTemplate post = PostTemplate::bare();
  // ByteLevel and RobertaProcessing: white space at the ends of a token's text leaves its span. One
  // leading space of the first token is forgiven where the pre-tokeniser adds one
  // (add_prefix_space).
  bool trim_offsets = false;
  bool add_prefix_space = false;

  // Tokens that the template adds.
  int64_t special_tokens(bool pair) const;
  // Trims the spans of one side (or, after truncation, of one window of a side: its first token
  // counts as the first), still without special tokens. `text` is what the spans count in, of a
  // list of words each span in its own word. `spaces_of` tells the white space of the token at an
  // index of the side: of an added token in the normalised text that it was found in, of any other
  // as the vocabulary spells it.
  void trim(Encoding& side, const TextInput& text,
            const std::function<EndSpaces(size_t index)>& spaces_of) const;
  // The template around one side or two; an absent second text takes the template for one. Sets
  // type ids and sequence numbers, whatever the sides hold there. Throws kUnsupported for two where
  // the template for two does not use both.
  Encoding assemble(const Encoding& first, const Encoding* second, bool add_special_tokens) const;
};

// The post_processor of a tokenizer.json. Throws at `place`: kInvalidFile for a broken one,
// kUnsupported for an unknown type and for sequences with two templates or two trimmings.
PostProcessor read_post_processor(const Json& json, const std::string& place);

}  // namespace longformer::text
