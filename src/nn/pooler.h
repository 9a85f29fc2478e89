// tanh(W y_0 + b) of the first token of each sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/weights.h"

namespace longformer {

class ThreadPool;

// x: [rows, hidden]; first_rows: the row of each sequence's first token. Returns [sequences,
// out_features].
std::vector<float> pool_first_token(const Linear& dense, const float* x, int64_t hidden,
                                    const std::vector<int64_t>& first_rows, ThreadPool& pool);

}  // namespace longformer
