#include <algorithm>
#include <limits>
#include <vector>

#include "attention/compared/planes.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"

namespace longformer::compared {
namespace {

constexpr int64_t kTaskRows = 128;  // queries of one task of each of the three passes

// Rows [first, end) of one head.
struct Task {
  int64_t head = 0;
  int64_t first = 0;
  int64_t rows = 0;
};

void softmax_in_place(int64_t rows, int64_t keys, float* scores) {
  const int32_t begin = 0, end = static_cast<int32_t>(keys);
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = scores + r * keys;
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0, correction = 0;
    kernels::softmax_strip(1, keys, &begin, &end, row, &maximum, &sum, &correction);
    kernels::normalize_rows(1, keys, row, &sum, keys, row);
  }
}

}  // namespace

void full_attention(const Shape& shape, const float* q, const float* k, const float* v, float* out,
                    ThreadPool& pool) {
  check(shape, "full");
  const int64_t n = shape.tokens, d = shape.head_dim;
  if (n == 0) return;
  const int64_t plane = shape.heads * n * d;
  Arena inputs, scores_memory, outputs;
  inputs.reset(3 * Arena::bytes_for(plane));
  float *const queries = inputs.floats(plane), *const keys = inputs.floats(plane),
               *const values = inputs.floats(plane);
  split_into_planes(shape, q, n, 0, queries, pool);
  split_into_planes(shape, k, n, 0, keys, pool);
  split_into_planes(shape, v, n, 0, values, pool);
  scores_memory.reset(Arena::bytes_for(shape.heads * n * n));
  float* const scores = scores_memory.floats(shape.heads * n * n);
  outputs.reset(static_cast<size_t>(pool.threads()) * Arena::bytes_for(kTaskRows * d));
  std::vector<float*> results;
  for (int t = 0; t < pool.threads(); ++t) results.push_back(outputs.floats(kTaskRows * d));

  const int64_t blocks = (n + kTaskRows - 1) / kTaskRows;
  const auto each_task = [&](const auto& compute) {
    pool.run(shape.heads * blocks, [&](int64_t index, int worker) {
      const int64_t first = index % blocks * kTaskRows;
      compute(Task{index / blocks, first, std::min(kTaskRows, n - first)}, worker);
    });
  };
  const auto row = [&](const Task& task) { return task.head * n + task.first; };
  each_task([&](const Task& task, int) {
    kernels::matmul_nt(task.rows, n, d, queries + row(task) * d, keys + task.head * n * d,
                       scores + row(task) * n);
  });
  each_task([&](const Task& task, int) { softmax_in_place(task.rows, n, scores + row(task) * n); });
  each_task([&](const Task& task, int worker) {
    float* const result = results[static_cast<size_t>(worker)];
    kernels::matmul_nn(task.rows, d, n, scores + row(task) * n, values + task.head * n * d, result);
    write_rows(shape, result, task.head, task.first, task.rows, out);
  });
}

uint64_t full_bytes(const Shape& shape) {
  const double heads = static_cast<double>(shape.heads), n = static_cast<double>(shape.tokens);
  const double plane = heads * n * static_cast<double>(shape.head_dim);
  return bytes_of({3 * plane, heads * n * n});
}

}  // namespace longformer::compared
