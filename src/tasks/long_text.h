// A text, or a pair, as the sequences that a task reads: one where it fits, else overlapping
// windows or what is left after a cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tasks/task_text.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

enum class LongText {
  kWindows,   // windows of equal size over the first text, each with all of the second
  kTruncate,  // cut off, as the reference's truncation does
  kRefuse,
};

struct CutText {
  std::string first;
  std::string second;
  std::vector<text::Encoding> windows;  // one at least, special tokens included
  int64_t tokens = 0;                   // of both texts, without special tokens
  int64_t truncated_tokens = 0;         // of these, left out
};

// `cut`: which of a pair kTruncate shortens. `stride`: tokens that neighbouring windows share;
// none: as inference chooses it. Throws kInvalidArgument where the text is too long (kRefuse,
// saying both lengths), the second one leaves no room for windows over the first, or the stride
// none to go on.
CutText cut_text(const TextSpace& space, std::string first, std::optional<std::string> second,
                 LongText long_text, text::Truncation cut = text::Truncation::kLongestFirst,
                 std::optional<int64_t> stride = {});

// Tokens [begin, end) of an encoding without special tokens, between those of the model.
text::Encoding wrap_tokens(const text::Tokenizer& tokenizer, const text::Encoding& tokens,
                           size_t begin, size_t end);

// The sequence as run_sequences takes it; views into `text`, which must outlive it.
TaskSequence sequence_of(const CutText& text, size_t window);

}  // namespace longformer::tasks
