// Global rows of attention_forward: queries that count every valid key of their sequence.
// Formula per query and head: out = Σ_j p_j v_j, p = softmax over the valid keys j of q·k_j.
// Keys are cut into the plan's blocks of at most kGlobalBlock rows; each block gives a partial
// (max, sum, Σ exp·v), and partials are merged in block order, so bits depend neither on threads
// nor on other sequences. Cost: 4 · head_dim FLOP a (query, key) pair; at most kPartialBytes of
// partials at a time.
#pragma once

#include <cstdint>

#include "attention/forward.h"

namespace longformer {

// Overwrites the rows of plan.global_rows in out [rows][heads][head_dim] and lse [rows][heads] (may
// be null).
void global_rows_forward(const AttentionPlan& plan, int64_t head_dim, const GlobalInputs& inputs,
                         float* out, float* lse, ThreadPool& pool);

}  // namespace longformer
