#include "models/anomaly.h"

#include <algorithm>
#include <cmath>

namespace longformer {
namespace {

// The index of the first one; -1: all are finite.
int64_t first_not_finite(const float* values, int64_t count) {
  const float* const end = values + count;
  const float* const found =
      std::find_if(values, end, [](float value) { return !std::isfinite(value); });
  return found == end ? -1 : found - values;
}

const char* kind_of(double value) { return std::isnan(value) ? "NaN" : "infinite"; }

}  // namespace

void AnomalyFinder::parameters(const ParameterSet& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    if (!found_.empty()) return;
    const int64_t at = first_not_finite(parameter.value, parameter.elements);
    if (at < 0) continue;
    found_ = "the parameter " + parameter.spec.name + ": element " + std::to_string(at) + " is " +
             kind_of(parameter.value[at]);
  }
}

void AnomalyFinder::rows(const std::string& what, int64_t columns, const float* rows) {
  if (!found_.empty()) return;
  int64_t first = 0;
  for (size_t s = 0; s < lengths_.size(); first += lengths_[s++]) {
    const int64_t at = first_not_finite(rows + first * columns, lengths_[s] * columns);
    if (at < 0) continue;
    found_ = what + ": token " + std::to_string(at / columns) + " of sequence " +
             std::to_string(s) + ", element " + std::to_string(at % columns) + " is " +
             kind_of(rows[first * columns + at]);
    return;
  }
}

void AnomalyFinder::number(const std::string& what, double value) {
  if (found_.empty() && !std::isfinite(value)) found_ = what + " is " + kind_of(value);
}

}  // namespace longformer
