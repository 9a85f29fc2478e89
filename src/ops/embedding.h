// x = LayerNorm(word[id] + position[pos] + type[tt]) for each token.
#pragma once

#include <cstdint>

#include "ops/weights.h"

namespace longformer {

class ThreadPool;

struct EmbeddingWeights {
  EmbeddingTable word;
  EmbeddingTable position;
  EmbeddingTable type;
  LayerNorm norm;
};

// ids, positions, types: [rows], all inside their tables. x: [rows, cols].
void embedding(const EmbeddingWeights& weights, int64_t rows, int64_t cols, const int64_t* ids,
               const int64_t* positions, const int64_t* types, float* x, ThreadPool& pool);

}  // namespace longformer
