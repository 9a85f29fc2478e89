// Where answers stand in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/datasets/squad_json.h"
#include "text/tokenizer.h"

namespace longformer::train {

// Bytes of the text, in order, each place once. Throws BadExample for a start outside the text or
// at which the answer does not stand, and for an answer that is empty.
std::vector<text::Offset> answer_places(std::string_view text, const io::GoldQuestion& question);

// The tokens of the second text that cover [bytes.begin, bytes.end), both inclusive; false where
// the window does not hold all of it. `first` and `last` window of the text reach to its ends.
struct WindowPlace {
  bool first = true;
  bool last = true;
};
bool token_span(const text::Encoding& window, const WindowPlace& place, const text::Offset& bytes,
                int64_t& first, int64_t& last);

}  // namespace longformer::train
