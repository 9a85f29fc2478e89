// Two short trainings that leave the parameters as they were: whether one batch can be learnt by
// heart, and which learning rate to try.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "train/options.h"
#include "train/training_task.h"

namespace longformer::train {

struct OverfitResult {
  enum class Verdict { kLearnt, kNotLearnt, kStopped };
  Verdict verdict = Verdict::kNotLearnt;
  int64_t steps = 0;
  double first_loss = 0, last_loss = 0;
};

// Trains on the first batch with labels, with the same randomness each step and a constant learning
// rate, for at most options.overfit_one_batch steps: learnt when the loss is below a tenth of where
// it began. A model, loss or learning rate that fails here fails everywhere.
OverfitResult overfit_one_batch(TrainingTask& task, const TrainingOptions& options,
                                const std::function<bool()>& stop, ThreadPool& pool);

struct LearningRatePoint {
  double learning_rate = 0;
  double loss = 0;      // of the step
  double smoothed = 0;  // of the steps so far
};

struct LearningRateSearch {
  std::vector<LearningRatePoint> points;
  double suggested = 0;  // where the loss falls fastest; 0: it never fell
};

// Trains with a learning rate that rises from 1e-7 to 1 over options.find_learning_rate steps
// (Smith 2017), and ends early where the loss explodes.
LearningRateSearch find_learning_rate(TrainingTask& task, const TrainingOptions& options,
                                      const std::function<bool()>& stop, ThreadPool& pool);

}  // namespace longformer::train
