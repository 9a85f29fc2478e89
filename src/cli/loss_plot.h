// The figure of one or more trainings as SVG: losses above, learning rates below, over the steps.
#pragma once

#include <string>
#include <vector>

#include "train/loss_curves.h"

namespace longformer::cli {

// At least one run with at least one point.
std::string loss_svg(const std::vector<train::LossCurves>& runs);

// Round values in [low, high], at most seven: 0.5, 1, 1.5.
struct Ticks {
  std::vector<double> values;
  std::vector<std::string> labels;
};
Ticks linear_ticks(double low, double high);

}  // namespace longformer::cli
