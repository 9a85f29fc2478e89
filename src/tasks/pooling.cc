#include "tasks/pooling.h"

#include <algorithm>
#include <cmath>

namespace longformer::tasks {

std::string_view pooling_name(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kMax:
      return "max";
  }
  return "";
}

std::optional<Pooling> pooling_from_name(std::string_view name) noexcept {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
    if (pooling_name(pooling) == name) return pooling;
  }
  return std::nullopt;
}

Pooler::Pooler(Pooling pooling, int64_t hidden_size)
    : pooling_(pooling),
      hidden_size_(static_cast<size_t>(hidden_size)),
      values_(static_cast<size_t>(hidden_size), 0.0) {}

void Pooler::reset() {
  count_ = 0;
  std::fill(values_.begin(), values_.end(), 0.0);
}

void Pooler::add(std::span<const float> states) {
  for (size_t row = 0; row < states.size(); row += hidden_size_) {
    const float* state = states.data() + row;
    if (count_ == 0) {
      std::copy_n(state, hidden_size_, values_.begin());
    } else if (pooling_ == Pooling::kMean) {
      for (size_t c = 0; c < hidden_size_; ++c) values_[c] += static_cast<double>(state[c]);
    } else if (pooling_ == Pooling::kMax) {
      for (size_t c = 0; c < hidden_size_; ++c) {
        values_[c] = std::max(values_[c], static_cast<double>(state[c]));
      }
    }
    ++count_;
  }
}

void Pooler::result(std::span<float> out) const {
  const double factor =
      pooling_ == Pooling::kMean && count_ > 0 ? 1.0 / static_cast<double>(count_) : 1.0;
  for (size_t c = 0; c < hidden_size_; ++c) out[c] = static_cast<float>(values_[c] * factor);
}

void normalize(std::span<float> vector) noexcept {
  double square = 0;
  for (const float x : vector) square += static_cast<double>(x) * static_cast<double>(x);
  if (square == 0) return;
  const double factor = 1.0 / std::sqrt(square);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) * factor);
}

double cosine(std::span<const float> a, std::span<const float> b) noexcept {
  double product = 0;
  double square_a = 0;
  double square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]);
    const double y = static_cast<double>(b[i]);
    product += x * y;
    square_a += x * x;
    square_b += y * y;
  }
  if (square_a == 0 || square_b == 0) return 0;
  return product / std::sqrt(square_a * square_b);
}

}  // namespace longformer::tasks
