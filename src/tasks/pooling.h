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

// "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken": the names that
// sentence-transformers uses.
std::string_view pooling_name(Pooling pooling) noexcept;
std::optional<Pooling> pooling_from_name(std::string_view name) noexcept;
std::vector<std::string> pooling_name_list();
std::string pooling_names();  // all of them, for messages

// A mode that takes one state at an end of the text, which a passage inside a document lacks.
bool takes_one_state(Pooling pooling) noexcept;

// Takes states one run after the other, in order. Sums are in double precision, so that a document
// of a million tokens has the mean that it should.
class Pooler {
 public:
  // The vectors of several modes follow each other.
  Pooler(std::span<const Pooling> modes, int64_t hidden_size);
  void reset();
  // States that have a place in the text but are not pooled: they count in the weights of
  // kWeightedMean.
  void skip(int64_t tokens) noexcept { position_ += tokens; }
  void add(std::span<const float> states);  // [tokens, hidden_size]
  int64_t count() const noexcept { return count_; }
  int64_t size() const noexcept;            // numbers of the result
  void result(std::span<float> out) const;  // [size()]; zeros when nothing was added

 private:
  void add_state(Pooling mode, const float* state, double* values) const;
  double factor(Pooling mode) const;

  std::vector<Pooling> modes_;
  size_t hidden_size_;
  int64_t count_ = 0;
  int64_t position_ = 0;
  double weights_ = 0;
  std::vector<double> values_;  // [modes, hidden_size]
};

// Divides by the Euclidean length; a zero vector stays as it is.
void normalize(std::span<float> vector) noexcept;
// Cosine of the angle, 0 where one of the two is zero.
double cosine(std::span<const float> a, std::span<const float> b) noexcept;

}  // namespace longformer::tasks
