#include "ops/losses.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"

namespace longformer {
namespace {

constexpr int64_t kRowsPerTask = 8;

// log Σ exp(z[i · stride]).
double log_sum_exp(int64_t count, int64_t stride, const float* z) {
  float most = z[0];
  for (int64_t i = 1; i < count; ++i) most = std::max(most, z[i * stride]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(z[i * stride]) - most);
  return most + std::log(sum);
}

double cross_entropy_row(int64_t outputs, int64_t label, double smoothing, double scale,
                         float* logits) {
  const double total = log_sum_exp(outputs, 1, logits);
  const double share = smoothing / static_cast<double>(outputs);
  double loss = (1 - smoothing) * (total - logits[label]);
  if (smoothing > 0) {
    for (int64_t c = 0; c < outputs; ++c) loss += share * (total - logits[c]);
  }
  for (int64_t c = 0; c < outputs; ++c) {
    const double target = share + (c == label ? 1 - smoothing : 0);
    logits[c] = static_cast<float>(scale * (std::exp(logits[c] - total) - target));
  }
  return loss;
}

}  // namespace

double cross_entropy(int64_t rows, int64_t outputs, const int64_t* labels, double smoothing,
                     double scale, float* logits, ThreadPool& pool) {
  std::vector<double> losses(static_cast<size_t>(rows), 0.0);
  pool.run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task, int) {
    const int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (int64_t row = task * kRowsPerTask; row < end; ++row) {
      float* const z = logits + row * outputs;
      if (labels[row] < 0) {
        std::fill_n(z, outputs, 0.0f);
      } else {
        losses[static_cast<size_t>(row)] =
            cross_entropy_row(outputs, labels[row], smoothing, scale, z);
      }
    }
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

double binary_cross_entropy(int64_t count, const float* targets, double scale, float* logits) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double z = logits[i];
    const double t = targets[i];
    // log(1 + exp(z)) without overflow.
    sum += std::max(z, 0.0) - z * t + std::log1p(std::exp(-std::abs(z)));
    const double sigmoid = z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
    logits[i] = static_cast<float>(scale * (sigmoid - t));
  }
  return sum;
}

double squared_error(int64_t count, const float* targets, double scale, float* logits) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(logits[i]) - targets[i];
    sum += difference * difference;
    logits[i] = static_cast<float>(scale * 2 * difference);
  }
  return sum;
}

double choice_loss(int64_t count, int64_t stride, std::span<const int64_t> right, double scale,
                   float* logits) {
  if (right.empty()) {
    for (int64_t i = 0; i < count; ++i) logits[i * stride] = 0.0f;
    return 0;
  }
  const double total = log_sum_exp(count, stride, logits);
  std::vector<float> chosen;
  for (const int64_t index : right) chosen.push_back(logits[index * stride]);
  const double of_right = log_sum_exp(static_cast<int64_t>(chosen.size()), 1, chosen.data());
  for (int64_t i = 0; i < count; ++i) {
    const double z = logits[i * stride];
    logits[i * stride] = static_cast<float>(scale * std::exp(z - total));
  }
  for (size_t i = 0; i < right.size(); ++i) {
    logits[right[i] * stride] -= static_cast<float>(scale * std::exp(chosen[i] - of_right));
  }
  return total - of_right;
}

}  // namespace longformer
