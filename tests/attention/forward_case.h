// Inputs and runs of the forward kernel, for tests.
#pragma once

#include <cmath>
#include <vector>

#include "attention/forward.h"
#include "attention/reference.h"
#include "base/thread_pool.h"
#include "patterns.h"

namespace longformer::testing {

struct ForwardInputs {
  int64_t head_dim = 0;
  std::vector<float> q, k, v, global_q, global_k, global_v;  // [rows][heads][head_dim]

  template <typename Function>
  void for_each(Function function) {
    for (std::vector<float>* tensor : {&q, &k, &v, &global_q, &global_k, &global_v}) {
      function(*tensor);
    }
  }
};

struct ForwardOutputs {
  std::vector<float> out;  // [rows][heads][head_dim]
  std::vector<float> lse;  // [rows][heads]
  bool operator==(const ForwardOutputs&) const = default;
};

inline int64_t total_rows(const AttentionPattern& pattern) {
  int64_t rows = 0;
  for (const int64_t length : pattern.lengths) rows += length;
  return rows;
}

inline ForwardInputs random_inputs(Random& random, const AttentionPattern& pattern,
                                   int64_t head_dim, float spread = 1.0f) {
  ForwardInputs inputs;
  inputs.head_dim = head_dim;
  const int64_t size = total_rows(pattern) * pattern.heads * head_dim;
  const float scale = spread * 3.0f / std::sqrt(static_cast<float>(head_dim));
  inputs.q = random.values(size, scale);
  inputs.k = random.values(size);
  inputs.v = random.values(size);
  inputs.global_q = random.values(size, scale);
  inputs.global_k = random.values(size);
  inputs.global_v = random.values(size);
  return inputs;
}

inline ForwardOutputs run_forward(const AttentionPattern& pattern, const ForwardInputs& inputs,
                                  ThreadPool& pool) {
  const AttentionPlan plan = compile(pattern);
  ForwardOutputs outputs;
  const auto rows = static_cast<size_t>(plan.rows * pattern.heads);
  // What is never written stays visible.
  outputs.out.assign(rows * static_cast<size_t>(inputs.head_dim), 12345.0f);
  outputs.lse.assign(rows, 12345.0f);
  attention_forward(plan, inputs.head_dim, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                    {inputs.global_q.data(), inputs.global_k.data(), inputs.global_v.data()},
                    outputs.out.data(), outputs.lse.data(), pool);
  return outputs;
}

inline std::vector<double> widen(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

inline ReferenceOutputs run_reference(const AttentionPattern& pattern,
                                      const ForwardInputs& inputs) {
  return attention_reference(
      pattern, {inputs.head_dim, widen(inputs.q), widen(inputs.k), widen(inputs.v),
                widen(inputs.global_q), widen(inputs.global_k), widen(inputs.global_v)});
}

}  // namespace longformer::testing
