// One vector from many token states, and how alike two vectors are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/embedder.h"

namespace longformer::tasks {

using longformer::Pooling;

std::string_view pooling_name(Pooling pooling) noexcept;  // "mean", "cls", "max"
std::optional<Pooling> pooling_from_name(std::string_view name) noexcept;

// Takes states one run after the other, in order. Sums are in double precision, so that a document
// of a million tokens has the mean that it should.
class Pooler {
 public:
  Pooler(Pooling pooling, int64_t hidden_size);
  void reset();
  void add(std::span<const float> states);  // [tokens, hidden_size]
  int64_t count() const noexcept { return count_; }
  void result(std::span<float> out) const;  // [hidden_size]; zeros when nothing was added

 private:
  Pooling pooling_;
  size_t hidden_size_;
  int64_t count_ = 0;
  std::vector<double> values_;
};

// Divides by the Euclidean length; a zero vector stays as it is.
void normalize(std::span<float> vector) noexcept;
// Cosine of the angle, 0 where one of the two is zero.
double cosine(std::span<const float> a, std::span<const float> b) noexcept;

}  // namespace longformer::tasks
