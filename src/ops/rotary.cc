#include "ops/rotary.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/rotary.h"

namespace longformer {

namespace {
constexpr int64_t kRowsPerTask = 256;
}

std::vector<float> rotary_frequencies(double theta, int64_t head_dim) {
  std::vector<float> frequencies(static_cast<size_t>(head_dim / 2));
  for (size_t c = 0; c < frequencies.size(); ++c) {
    const float exponent = static_cast<float>(2 * c) / static_cast<float>(head_dim);
    frequencies[c] = 1.0f / static_cast<float>(std::pow(theta, double{exponent}));
  }
  return frequencies;
}

RotaryAngles make_rotary_angles(const std::vector<int64_t>& positions, double theta,
                                int64_t head_dim, ThreadPool& pool) {
  const std::vector<float> frequencies = rotary_frequencies(theta, head_dim);
  const int64_t rows = static_cast<int64_t>(positions.size());
  const int64_t half = head_dim / 2;
  RotaryAngles angles;
  angles.cosines.resize(static_cast<size_t>(rows * half));
  angles.sines.resize(angles.cosines.size());
  pool.run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task, int) {
    const int64_t first = task * kRowsPerTask;
    kernels::rotary_angles(std::min(kRowsPerTask, rows - first), half, positions.data() + first,
                           frequencies.data(), angles.cosines.data() + first * half,
                           angles.sines.data() + first * half);
  });
  return angles;
}

}  // namespace longformer
