// How many (query, key) pairs a pattern counts, without looking at each: the sum of count() over
// all of a sequence. For a band with both reaches c < n and nothing else that is
//   n (2c + 1) - c (c + 1).
#pragma once

#include <cstdint>

#include "attention/pattern.h"
#include "attention/plan.h"

namespace longformer {

// count_cells.h does the work, which says what it costs. The pattern must be valid (validate()).
// Throws kUnsupported for memory.
int64_t count_pairs(const AttentionPattern& pattern, int64_t sequence, int64_t head);

// How many pairs of one head the tiles of a plan multiply, over all sequences: whole key ranges and
// gathered global columns, rows rounded up to kRowAlign and to row_quantum (kernels/gemm.h). Global
// rows as queries of their own are not among them; their rows of the tiles are.
int64_t computed_pairs(const AttentionPlan& plan, int64_t head, int64_t row_quantum);

}  // namespace longformer
