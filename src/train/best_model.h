// Which evaluation was the best so far, and whether there is still a gain.
#pragma once

#include "train/options.h"
#include "train/records.h"
#include "train/training_state.h"

namespace longformer::train {

// Takes the evaluation of state.step into the state: the best metric and the count of evaluations
// without gain, as the EarlyStoppingCallback counts them. Throws kInvalidArgument where the metric
// of the options is none of those.
BestSoFar note_evaluation(const TrainingOptions& options,
                          const std::map<std::string, double>& metrics, TrainingState& state);

bool out_of_patience(const TrainingOptions& options, const TrainingState& state) noexcept;

}  // namespace longformer::train
