#include "train/outliers.h"

#include <cmath>

namespace longformer::train {

// Sums are taken anew each time: a continued run gets the same bits.
double add_and_score(std::vector<double>& window, double value) {
  window.push_back(value);
  if (window.size() <= kOutlierWindow) return 0;
  window.erase(window.begin());
  double sum = 0, squares = 0;
  for (const double x : window) sum += x;
  const double mean = sum / static_cast<double>(window.size());
  for (const double x : window) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(window.size()));
  return deviation > 0 ? (value - mean) / deviation : 0;
}

}  // namespace longformer::train
