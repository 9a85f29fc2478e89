#include "tasks/softmax.h"

#include <algorithm>
#include <cmath>

namespace longformer::tasks {

std::vector<double> softmax(std::vector<double> values) {
  const double largest = values.empty() ? 0.0 : *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (double& value : values) value /= sum;
  return values;
}

std::vector<double> softmax(std::span<const float> logits) {
  return softmax(std::vector<double>(logits.begin(), logits.end()));
}

}  // namespace longformer::tasks
