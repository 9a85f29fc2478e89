// All gradients together: their norm, and how much of them counts.
#pragma once

#include <string>

#include "base/thread_pool.h"
#include "nn/parameters.h"

namespace longformer::train {

// The Euclidean norm over every parameter that is not frozen, summed in double over pieces of a
// fixed size: the same bits for any number of threads. Infinite or NaN where a gradient is.
double gradient_norm(const ParameterSet& parameters, ThreadPool& pool);

// What gradients are to be multiplied by so that their norm is at most `max_norm`, as
// torch.nn.utils.clip_grad_norm_: max_norm / (norm + 1e-6), at most 1. 1 where max_norm is 0.
double clip_coefficient(double norm, double max_norm) noexcept;

// The first parameter with a gradient that is infinite or NaN, and its index: "x at 17". Empty
// where there is none.
std::string first_not_finite(const ParameterSet& parameters);
// The same of the values.
std::string first_value_not_finite(const ParameterSet& parameters);

}  // namespace longformer::train
