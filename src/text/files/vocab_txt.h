// Vocabularies that are files of their own.
#pragma once

#include <string>
#include <string_view>

#include "text/piece.h"

namespace longformer::text {

// vocab.txt: line number = id. Of equal lines the last counts, as in the reference; the id of the
// others stays unused. Throws kInvalidFile at `place`.
Vocabulary read_vocab_txt(std::string_view text, const std::string& place);
// vocab.json: an object of tokens and ids. Throws kInvalidFile at `place`.
Vocabulary read_vocab_json(const std::string& text, const std::string& place);

}  // namespace longformer::text
