// exp(x - largest), over their sum; in double precision.
#pragma once

#include <span>
#include <vector>

namespace longformer::tasks {

std::vector<double> softmax(std::vector<double> values);
std::vector<double> softmax(std::span<const float> logits);

}  // namespace longformer::tasks
