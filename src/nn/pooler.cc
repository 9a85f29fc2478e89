#include "nn/pooler.h"

#include <cstring>

#include "base/thread_pool.h"
#include "kernels/rowwise.h"
#include "ops/operand.h"

namespace longformer {

std::vector<float> pool_first_token(const Linear& dense, const float* x, int64_t hidden,
                                    const std::vector<int64_t>& first_rows, ThreadPool& pool) {
  const int64_t rows = static_cast<int64_t>(first_rows.size());
  const int64_t outputs = dense.weight.out_features();
  std::vector<float> first(static_cast<size_t>(rows * hidden));
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(first.data() + r * hidden, x + first_rows[r] * hidden,
                static_cast<size_t>(hidden) * sizeof(float));
  }
  std::vector<float> pooled(static_cast<size_t>(rows * outputs));
  if (rows == 0) return pooled;
  const DType type = dense.weight.row_type();
  Arena arena;
  arena.reset(Operand::bytes_for(rows, hidden, type));
  Operand input;
  input.take(arena, rows, hidden, type);
  pool.run(1, [&](int64_t, int) {
    const kernels::Products products =
        kernels::linear(input.convert(0, rows, first.data()), rows, dense.weight, pooled.data());
    kernels::bias_activation(rows, outputs, kernels::Activation::kTanh, products, dense.bias.data(),
                             {DType::kF32, pooled.data(), outputs, nullptr, nullptr});
  });
  return pooled;
}

}  // namespace longformer
