// From start and end logits of tokens to the likeliest spans, as the reference's question-answering
// pipeline decodes a window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longformer::tasks {

// A row of logits as a distribution: softmax over all tokens, those that are not `counted` (0) with
// a logit of -10000 in place of their own. Throws kInvalidFile where one that counts is not finite.
std::vector<double> span_probabilities(std::span<const float> logits,
                                       std::span<const uint8_t> counted);

struct TokenSpan {
  size_t first = 0;  // both inclusive
  size_t last = 0;
  double score = 0;  // starts[first] * ends[last]
  bool operator==(const TokenSpan&) const = default;
};

// The `count` likeliest spans of at most `max_length` tokens, best first, equal ones by first, then
// last token. Spans without any probability are left out, where the reference fills up with them.
// Exact, and time tokens * log(tokens) + count * max_length: the best span of each start is known
// beforehand, and only the best starts are looked at.
std::vector<TokenSpan> best_spans(std::span<const double> starts, std::span<const double> ends,
                                  int64_t max_length, size_t count);

}  // namespace longformer::tasks
