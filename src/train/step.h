// The gradients of one optimizer step, from several batches.
#pragma once

#include <functional>
#include <vector>

#include "base/thread_pool.h"
#include "train/batches.h"
#include "train/optimizer.h"
#include "train/options.h"
#include "train/training_task.h"

namespace longformer::train {

enum class Completion { kWhole, kStopped };

struct StepGradients {
  Completion completion = Completion::kWhole;
  double loss = 0;  // a label, mean over the batches together
  double norm = 0;  // of all gradients, before clipping
  int64_t labels = 0, examples = 0, tokens = 0;
};

// Clears the gradients, then runs the batches; each label counts the same in whichever batch it
// stands. Asks `stop` (which may be empty) before each batch; a step that was stopped has no
// meaning.
StepGradients compute_gradients(TrainingTask& task, const std::vector<Batch>& batches,
                                const StepKey& key, const std::function<bool()>& stop,
                                ThreadPool& pool);

OptimizerSettings optimizer_settings(const TrainingOptions& options);
BatchSettings batch_settings(const TrainingOptions& options);
BatchOrder batch_order(const TrainingTask& task, const TrainingOptions& options);

// Throws kInvalidArgument where every parameter is frozen.
void check_trains_something(const ParameterSet& parameters);

// The values of all parameters, to go back to.
class SavedValues {
 public:
  explicit SavedValues(const ParameterSet& parameters);
  void restore(ParameterSet& parameters) const;

 private:
  std::vector<std::vector<float>> values_;
};

}  // namespace longformer::train
