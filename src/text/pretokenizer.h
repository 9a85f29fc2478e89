// Cuts normalised text into the words that the model sees one at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "text/normalizer.h"

namespace longformer::text {

enum class PreTokenizer {
  kNone,  // the whole text is one word
  kBert,  // words end at White_Space, which is dropped; each punctuation character is a word
};

struct WordRange {
  size_t begin;  // characters
  size_t end;
};

// Replaces `out` by the words of characters [begin, end), in order.
void split_words(PreTokenizer kind, const Characters& characters, size_t begin, size_t end,
                 std::vector<WordRange>& out);

}  // namespace longformer::text
