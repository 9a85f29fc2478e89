#include "ops/embedding.h"

#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/rowwise.h"

namespace longformer {

namespace {
constexpr int64_t kRowsPerTask = 64;
}

void embedding(const EmbeddingWeights& weights, int64_t rows, int64_t cols, const int64_t* ids,
               const int64_t* positions, const int64_t* types, float* x, ThreadPool& pool) {
  const int64_t tasks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  pool.run(tasks, [&](int64_t task, int) {
    std::vector<float> buffer(static_cast<size_t>(3 * cols));
    float* word = buffer.data();
    float* position = word + cols;
    float* type = position + cols;
    const int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (int64_t row = task * kRowsPerTask; row < end; ++row) {
      weights.word.read(ids[row], word);
      if (weights.position.empty()) {  // nor token types
        kernels::layer_norm(1, cols, word, weights.norm.gamma.data(), weights.norm.beta.data(),
                            weights.norm.eps, x + row * cols);
        continue;
      }
      weights.position.read(positions[row], position);
      weights.type.read(types[row], type);
      kernels::embedding_layer_norm(cols, word, position, type, weights.norm.gamma.data(),
                                    weights.norm.beta.data(), weights.norm.eps, x + row * cols);
    }
  });
}

}  // namespace longformer
