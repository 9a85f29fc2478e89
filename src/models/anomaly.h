// The first number of a training pass that is NaN or infinite, and where it stood.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace longformer {

// Looks at one thing after the other, in the order in which they are computed; only the first find
// counts.
class AnomalyFinder {
 public:
  // lengths: tokens of each sequence of the batch.
  explicit AnomalyFinder(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {}

  void parameters(const ParameterSet& parameters);
  // rows [tokens of the batch, columns]
  void rows(const std::string& what, int64_t columns, const float* rows);
  void number(const std::string& what, double value);

  // "the output of layer 3: token 17 of sequence 0, element 5 is NaN"; empty: nothing was found.
  const std::string& found() const noexcept { return found_; }

 private:
  const std::vector<int64_t> lengths_;
  std::string found_;
};

}  // namespace longformer
