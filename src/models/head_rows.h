// Which states a head reads, and the way back: the table's HeadRows applied to a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "longformer/encoder.h"
#include "models/heads.h"

namespace longformer {

// The row of each sequence that a head reads. rows: kFirst or kFirstReal.
std::vector<int64_t> sequence_rows(HeadRows rows, const EncoderInput& input);

// The mean of each sequence's states that are not masked; zeros where all are. x: [tokens, hidden].
std::vector<float> mean_rows(const EncoderInput& input, int64_t hidden, const float* x);
// Its derivative: d_means [sequences, hidden] spread over d_x [tokens, hidden], which is
// overwritten.
void mean_rows_backward(const EncoderInput& input, int64_t hidden, const float* d_means,
                        float* d_x);

// The task's global tokens where the caller gave none; none where the task has none.
void set_default_global(const TaskInfo& info, EncoderInput& input);

}  // namespace longformer
