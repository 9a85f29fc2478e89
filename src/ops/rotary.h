// Rotary positions of a batch: the cosine and sine of position * frequency for each token and pair
// of channels. Made once for all layers with the same base; split_heads_rotary() applies them.
#pragma once

#include <cstdint>
#include <vector>

namespace longformer {

class ThreadPool;

struct RotaryAngles {
  std::vector<float> cosines;  // [rows, head_dim / 2]
  std::vector<float> sines;
};

// theta^(-2c / head_dim) for c = 0 … head_dim / 2 - 1, in the steps of the reference: the exponent
// and the power in f32, then one over it.
std::vector<float> rotary_frequencies(double theta, int64_t head_dim);

// positions: one a row, exact in f32 below 2^24.
RotaryAngles make_rotary_angles(const std::vector<int64_t>& positions, double theta,
                                int64_t head_dim, ThreadPool& pool);

}  // namespace longformer
