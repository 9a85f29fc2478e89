// Whether a number stands out among the last ones, as llm.c tells it.
#pragma once

#include <cstddef>
#include <vector>

namespace longformer::train {

inline constexpr size_t kOutlierWindow = 128;

// Adds a finite value to the window and returns how many deviations it lies above the mean of the
// window, itself included. 0 until the window is full, and where all values are equal.
double add_and_score(std::vector<double>& window, double value);

}  // namespace longformer::train
