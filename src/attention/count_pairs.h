// How many (query, key) pairs a pattern counts, without looking at each: the sum of count() over
// all of a sequence. For a band with both reaches c < n and nothing else that is
//   n (2c + 1) - c (c + 1).
#pragma once

#include <cstdint>

#include "attention/pattern.h"

namespace longformer {

// count_cells.h does the work, which says what it costs. The pattern must be valid (validate()).
// Throws kUnsupported for memory.
int64_t count_pairs(const AttentionPattern& pattern, int64_t sequence, int64_t head);

}  // namespace longformer
