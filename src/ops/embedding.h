// x = LayerNorm(word[id] + position[pos] + type[tt]) for each token; x = LayerNorm(word[id]) in
// models whose positions are rotary, which have neither of the other tables.
#pragma once

#include <cstdint>

#include "ops/weights.h"

namespace longformer {

class ThreadPool;

struct EmbeddingWeights {
  EmbeddingTable word;
  PositionTable position;  // both tables, or none
  EmbeddingTable type;
  LayerNorm norm;
};

// ids, positions, types: [rows], all inside their tables where there are any. x: [rows, cols].
void embedding(const EmbeddingWeights& weights, int64_t rows, int64_t cols, const int64_t* ids,
               const int64_t* positions, const int64_t* types, float* x, ThreadPool& pool);

}  // namespace longformer
