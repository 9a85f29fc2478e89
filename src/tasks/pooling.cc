#include "tasks/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace longformer::tasks {

namespace {

constexpr std::array<std::pair<Pooling, std::string_view>, 6> kNames = {{
    {Pooling::kMean, "mean"},
    {Pooling::kCls, "cls"},
    {Pooling::kMax, "max"},
    {Pooling::kMeanSqrtLength, "mean_sqrt_len_tokens"},
    {Pooling::kWeightedMean, "weightedmean"},
    {Pooling::kLastToken, "lasttoken"},
}};

}  // namespace

std::string_view pooling_name(Pooling pooling) noexcept {
  for (const auto& [value, name] : kNames) {
    if (value == pooling) return name;
  }
  return "";
}

std::optional<Pooling> pooling_from_name(std::string_view name) noexcept {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> pooling_name_list() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kNames) names.emplace_back(name);
  return names;
}

std::string pooling_names() {
  std::string all;
  for (const std::string& name : pooling_name_list()) all += (all.empty() ? "" : ", ") + name;
  return all;
}

bool takes_one_state(Pooling pooling) noexcept {
  return pooling == Pooling::kCls || pooling == Pooling::kLastToken;
}

Pooler::Pooler(std::span<const Pooling> modes, int64_t hidden_size)
    : modes_(modes.begin(), modes.end()),
      hidden_size_(static_cast<size_t>(hidden_size)),
      values_(modes.size() * static_cast<size_t>(hidden_size), 0.0) {}

void Pooler::reset() {
  count_ = 0;
  position_ = 0;
  weights_ = 0;
  std::fill(values_.begin(), values_.end(), 0.0);
}

int64_t Pooler::size() const noexcept { return static_cast<int64_t>(values_.size()); }

void Pooler::add_state(Pooling mode, const float* state, double* values) const {
  const double weight = mode == Pooling::kWeightedMean ? static_cast<double>(position_ + 1) : 1.0;
  if (mode == Pooling::kCls && count_ > 0) return;
  if (count_ == 0 || mode == Pooling::kLastToken) {
    for (size_t c = 0; c < hidden_size_; ++c) values[c] = weight * static_cast<double>(state[c]);
  } else if (mode == Pooling::kMax) {
    for (size_t c = 0; c < hidden_size_; ++c) {
      values[c] = std::max(values[c], static_cast<double>(state[c]));
    }
  } else {
    for (size_t c = 0; c < hidden_size_; ++c) values[c] += weight * static_cast<double>(state[c]);
  }
}

void Pooler::add(std::span<const float> states) {
  for (size_t row = 0; row < states.size(); row += hidden_size_) {
    for (size_t m = 0; m < modes_.size(); ++m) {
      add_state(modes_[m], states.data() + row, values_.data() + m * hidden_size_);
    }
    ++count_;
    ++position_;
    weights_ += static_cast<double>(position_);
  }
}

double Pooler::factor(Pooling mode) const {
  if (count_ == 0) return 1.0;
  if (mode == Pooling::kMean) return 1.0 / static_cast<double>(count_);
  if (mode == Pooling::kMeanSqrtLength) return 1.0 / std::sqrt(static_cast<double>(count_));
  if (mode == Pooling::kWeightedMean) return 1.0 / weights_;
  return 1.0;
}

void Pooler::result(std::span<float> out) const {
  for (size_t m = 0; m < modes_.size(); ++m) {
    const double scale = factor(modes_[m]);
    for (size_t c = m * hidden_size_; c < (m + 1) * hidden_size_; ++c) {
      out[c] = static_cast<float>(values_[c] * scale);
    }
  }
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
