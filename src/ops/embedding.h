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

// Where derivatives are added; null: not wanted. The reference's tables give the rows of padding no
// gradient; those ids, or -1.
struct EmbeddingGradients {
  float* word = nullptr;
  float* position = nullptr;
  float* type = nullptr;
  float* gamma = nullptr;
  float* beta = nullptr;
  int64_t word_padding = -1;
  int64_t position_padding = -1;
};
// d_x [rows, cols], by x; becomes the derivative by the rows in front of the norm. Rows of one
// table row are added in their order, whatever the number of threads.
void embedding_backward(const EmbeddingWeights& weights, int64_t rows, int64_t cols,
                        const int64_t* ids, const int64_t* positions, const int64_t* types,
                        float* d_x, const EmbeddingGradients& gradients, ThreadPool& pool);

}  // namespace longformer
