#include "nn/head.h"

#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "ops/operand.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

constexpr int64_t kRows = 64;       // of a task
constexpr int64_t kColumns = 4096;  // of the logits; a multiple of kernels::kColumnQuantum

int64_t columns_of_a_task(int64_t outputs) {
  return kernels::splits_columns() ? std::min(kColumns, outputs) : outputs;
}

struct Scratch {
  Arena arena;
  Operand operand;
  float* sums = nullptr;

  static auto bytes_for(int64_t cols, int64_t columns, DType type) {
    return Operand::bytes_for(kRows, cols, type) + Arena::bytes_for(kRows * columns);
  }
  Scratch(int64_t cols, int64_t columns, DType type) {
    arena.reset(bytes_for(cols, columns, type));
    operand.take(arena, kRows, cols, type);
    sums = arena.floats(kRows * columns);
  }
};

}  // namespace

void transform_states(const StateTransform& head, int64_t rows, int64_t hidden, float* x,
                      ThreadPool& pool) {
  pool.run((rows + kRows - 1) / kRows, [&](int64_t task, int) {
    const int64_t count = std::min(kRows, rows - task * kRows);
    float* const from = x + task * kRows * hidden;
    if (head.dense.weight.out_features() != 0) {
      Scratch scratch(hidden, hidden, head.dense.weight.row_type());
      const kernels::Products products = kernels::linear(scratch.operand.convert(0, count, from),
                                                         count, head.dense.weight, scratch.sums);
      kernels::bias_activation(count, hidden, head.activation, products, head.dense.bias.data(),
                               {DType::kF32, from, hidden, nullptr, nullptr});
    }
    if (!head.norm.empty()) {
      kernels::layer_norm(count, hidden, from, head.norm.gamma.data(), head.norm.beta.data(),
                          head.norm.eps, from);
    }
  });
}

void run_head(const Head& head, int64_t rows, int64_t hidden, float* x, float* logits,
              ThreadPool& pool) {
  if (rows == 0) return;
  transform_states(head.transform, rows, hidden, x, pool);
  const int64_t outputs = head.output.weight.out_features();
  const int64_t columns = columns_of_a_task(outputs);
  const int64_t column_tasks = (outputs + columns - 1) / columns;
  const int64_t row_tasks = (rows + kRows - 1) / kRows;
  pool.run(row_tasks * column_tasks, [&](int64_t task, int) {
    // Neighbouring tasks share the columns, whose weights are the larger operand.
    const int64_t row = task % row_tasks * kRows;
    const int64_t column = task / row_tasks * columns;
    const int64_t count = std::min(kRows, rows - row);
    const int64_t width = std::min(columns, outputs - column);
    Scratch scratch(hidden, width, head.output.weight.row_type());
    kernels::linear(scratch.operand.convert(0, count, x + row * hidden), count, head.output.weight,
                    scratch.sums, {column, width});
    const float* const bias = head.output.bias.data() + column;
    for (int64_t r = 0; r < count; ++r) {
      const float* const sums = scratch.sums + r * width;
      float* const to = logits + (row + r) * outputs + column;
      for (int64_t c = 0; c < width; ++c) to[c] = sums[c] + bias[c];
    }
  });
}

uint64_t head_scratch_bytes(int64_t hidden, int64_t outputs, DType type, int64_t rows,
                            int threads) {
  const int64_t columns = columns_of_a_task(outputs);
  const int64_t tasks = (rows + kRows - 1) / kRows * ((outputs + columns - 1) / columns);
  return static_cast<uint64_t>(std::min<int64_t>(tasks, threads)) *
         Scratch::bytes_for(hidden, columns, type == DType::kI8 ? DType::kU8 : type);
}

}  // namespace longformer
