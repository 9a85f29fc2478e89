#include "nn/pooler.h"

#include <cstring>

#include "base/thread_pool.h"

namespace longformer {

std::vector<float> gather_rows(const float* x, int64_t hidden, std::span<const int64_t> rows) {
  std::vector<float> gathered(rows.size() * static_cast<size_t>(hidden));
  for (size_t r = 0; r < rows.size(); ++r) {
    std::memcpy(gathered.data() + r * static_cast<size_t>(hidden), x + rows[r] * hidden,
                static_cast<size_t>(hidden) * sizeof(float));
  }
  return gathered;
}

std::vector<float> pool_first_token(const StateTransform& pooler, const float* x, int64_t hidden,
                                    const std::vector<int64_t>& first_rows, ThreadPool& pool) {
  std::vector<float> pooled = gather_rows(x, hidden, first_rows);
  transform_states(pooler, static_cast<int64_t>(first_rows.size()), hidden, pooled.data(), pool);
  return pooled;
}

}  // namespace longformer
