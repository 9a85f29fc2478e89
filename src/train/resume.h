// Whether a run may go on as it is now told to.
#pragma once

#include <functional>
#include <string>

#include "train/options.h"
#include "train/training_state.h"

namespace longformer::train {

struct ResumePlan {
  const TrainingOptions& options;
  std::string identity;  // TrainingTask::identity()
  int64_t total_steps = 0;
};

// Throws kInvalidArgument with `place` and each difference in options and facts that would change
// the numbers. `notice` hears of a longer schedule.
void check_resume(const TrainingState& saved, const ResumePlan& plan, const std::string& place,
                  const std::function<void(const std::string&)>& notice);

}  // namespace longformer::train
