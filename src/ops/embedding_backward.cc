#include <algorithm>
#include <numeric>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/rowwise_backward.h"
#include "ops/embedding.h"
#include "ops/row_tiles.h"

namespace longformer {
namespace {

constexpr int64_t kTableRowsPerTask = 16;

// table[indices[r]] += d[r] for all r but those of `padding`.
void add_by_index(int64_t rows, int64_t cols, const int64_t* indices, int64_t padding,
                  const float* d, float* table, ThreadPool& pool) {
  if (table == nullptr) return;
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return indices[a] < indices[b]; });
  std::vector<size_t> first;  // of each index, in `order`
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || indices[order[i]] != indices[order[i - 1]]) first.push_back(i);
  }
  const auto groups = static_cast<int64_t>(first.size());
  first.push_back(order.size());
  pool.run((groups + kTableRowsPerTask - 1) / kTableRowsPerTask, [&](int64_t task, int) {
    const int64_t end = std::min(groups, (task + 1) * kTableRowsPerTask);
    for (int64_t group = task * kTableRowsPerTask; group < end; ++group) {
      for (size_t i = first[static_cast<size_t>(group)]; i < first[static_cast<size_t>(group + 1)];
           ++i) {
        const int64_t index = indices[order[i]];
        if (index != padding) kernels::add(cols, d + order[i] * cols, table + index * cols);
      }
    }
  });
}

// The rows in front of the norm.
void sum_rows(const EmbeddingWeights& weights, int64_t first, int64_t count, int64_t cols,
              const int64_t* ids, const int64_t* positions, const int64_t* types, float* sums) {
  std::vector<float> buffer(static_cast<size_t>(cols));
  for (int64_t r = 0; r < count; ++r) {
    float* const to = sums + r * cols;
    weights.word.read(ids[first + r], to);
    if (weights.position.empty()) continue;
    weights.position.read(positions[first + r], buffer.data());
    kernels::add(cols, buffer.data(), to);
    weights.type.read(types[first + r], buffer.data());
    kernels::add(cols, buffer.data(), to);
  }
}

}  // namespace

void embedding_backward(const EmbeddingWeights& weights, int64_t rows, int64_t cols,
                        const int64_t* ids, const int64_t* positions, const int64_t* types,
                        float* d_x, const EmbeddingGradients& gradients, ThreadPool& pool) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  std::vector<float> shares(static_cast<size_t>(tiles * 2 * cols), 0.0f);
  pool.run(tiles, [&](int64_t t, int) {
    const int64_t first = t * kTileRows;
    const int64_t count = std::min(kTileRows, rows - first);
    std::vector<float> sums(static_cast<size_t>(count * cols));
    sum_rows(weights, first, count, cols, ids, positions, types, sums.data());
    float* const gamma = shares.data() + t * 2 * cols;
    float* const d = d_x + first * cols;
    kernels::layer_norm_backward(count, cols, sums.data(), weights.norm.gamma.data(),
                                 weights.norm.eps, d, d, gamma, gamma + cols);
  });
  for (int64_t t = 0; t < tiles; ++t) {
    const float* const gamma = shares.data() + t * 2 * cols;
    if (gradients.gamma != nullptr) kernels::add(cols, gamma, gradients.gamma);
    if (gradients.beta != nullptr) kernels::add(cols, gamma + cols, gradients.beta);
  }
  add_by_index(rows, cols, ids, gradients.word_padding, d_x, gradients.word, pool);
  if (weights.position.empty()) return;
  add_by_index(rows, cols, positions, gradients.position_padding, d_x, gradients.position, pool);
  add_by_index(rows, cols, types, -1, d_x, gradients.type, pool);
}

}  // namespace longformer
