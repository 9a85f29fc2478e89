#include "train/gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "train/pieces.h"

namespace longformer::train {
namespace {

// Several sums beside each other, which the processor can keep going at once.
double sum_of_squares(const float* values, int64_t count) noexcept {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[static_cast<size_t>(lane)] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]) * values[i];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

std::string first_not_finite(const ParameterSet& parameters, float* Parameter::*field) {
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.frozen()) continue;
    const float *const begin = parameter.*field, *const end = begin + parameter.elements;
    const float* const found =
        std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
    if (found != end) return parameter.spec.name + " at " + std::to_string(found - begin);
  }
  return "";
}

}  // namespace

double gradient_norm(const ParameterSet& parameters, ThreadPool& pool) {
  const std::vector<Piece> pieces = trained_pieces(parameters);
  std::vector<double> sums(pieces.size());
  pool.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    sums[static_cast<size_t>(i)] =
        sum_of_squares(parameters.all()[piece.parameter].gradient + piece.first, piece.count);
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return std::sqrt(sum);
}

double clip_coefficient(double norm, double max_norm) noexcept {
  if (max_norm <= 0) return 1;
  constexpr double kSmall = 1e-6;
  return std::min(1.0, max_norm / (norm + kSmall));
}

std::string first_not_finite(const ParameterSet& parameters) {
  return first_not_finite(parameters, &Parameter::gradient);
}

std::string first_value_not_finite(const ParameterSet& parameters) {
  return first_not_finite(parameters, &Parameter::value);
}

}  // namespace longformer::train
