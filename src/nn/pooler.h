// tanh(W y_0 + b) of the first token of each sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/head.h"

namespace longformer {

class ThreadPool;

// Rows of x [*, hidden] one after the other.
std::vector<float> gather_rows(const float* x, int64_t hidden, std::span<const int64_t> rows);

// x: [rows, hidden]; first_rows: the row of each sequence's first token. Returns [sequences,
// hidden].
std::vector<float> pool_first_token(const StateTransform& pooler, const float* x, int64_t hidden,
                                    const std::vector<int64_t>& first_rows, ThreadPool& pool);

}  // namespace longformer
