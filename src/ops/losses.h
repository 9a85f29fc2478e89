// Losses of logits and their derivatives, in double precision a row at a time. Each returns the sum
// of its rows' losses and replaces logits by `scale` times the derivative of that sum. Rows without
// a label give 0 and zeros. log softmax is taken with the row's largest logit removed. Where rows
// are summed up, in their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace longformer {

class ThreadPool;

// Σ_r -(1 - smoothing) log p[label_r] - smoothing · mean_c log p[c], p = softmax(logits[r]).
// labels: [rows], in 0 … outputs - 1 or negative for none.
double cross_entropy(int64_t rows, int64_t outputs, const int64_t* labels, double smoothing,
                     double scale, float* logits, ThreadPool& pool);

// Σ -(t log σ(z) + (1 - t) log(1 - σ(z))) over all elements, targets [count] in [0, 1].
double binary_cross_entropy(int64_t count, const float* targets, double scale, float* logits);

// Σ (z - t)² over all elements.
double squared_error(int64_t count, const float* targets, double scale, float* logits);

// One choice among `count` values logits[0], logits[stride], …: -log Σ_{i in right} softmax_i. Any
// of several right ones counts (Clark and Gardner 2018, shared by TriviaQA's recipes); `right`
// holds distinct indices below count and may be empty: 0 and zeros.
double choice_loss(int64_t count, int64_t stride, std::span<const int64_t> right, double scale,
                   float* logits);

}  // namespace longformer
