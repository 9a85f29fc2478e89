// The learning rate as a function of the step, with the values of transformers.get_scheduler.
#pragma once

#include <cstdint>
#include <string>

namespace longformer::train {

enum class ScheduleKind {
  kLinear,
  kCosine,
  kPolynomial,  // of power 1, down to 1e-7
  kConstant,    // without warm-up
  kConstantWithWarmup,
  kInverseSqrt,
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kLinear;
  double learning_rate = 5e-5;  // the highest
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;

  // Of the step that follows `steps_done` others.
  double at(int64_t steps_done) const noexcept;
};

// "linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt". Throws
// kInvalidArgument for another name.
ScheduleKind schedule_kind(const std::string& name);

// `steps` where it is given (above 0), else the share `ratio` of all steps, rounded up.
int64_t warmup_steps(int64_t steps, double ratio, int64_t total_steps) noexcept;

}  // namespace longformer::train
