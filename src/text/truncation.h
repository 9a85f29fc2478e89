// Which tokens of one or two texts go into each window, as the fast tokenizer library counts them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/tokenizer.h"

namespace longformer::text {

struct TokenRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const TokenRange&) const = default;
};

struct TextWindow {
  TokenRange first;
  TokenRange second;  // {0, 0} where there is no second text
  bool operator==(const TextWindow&) const = default;
};

// `specials`: tokens that the template adds around one text or the pair. The first window is the
// truncated input; the others are what overflowed, in the order in which the reference lists them.
// Throws kInvalidArgument as Tokenizer::encode_windows() says.
std::vector<TextWindow> plan_truncation(int64_t first_tokens, std::optional<int64_t> second_tokens,
                                        int64_t specials, const TruncationSettings& settings);

}  // namespace longformer::text
