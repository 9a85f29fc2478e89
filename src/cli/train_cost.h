// What a step of a training costs: memory, said before the first one, and arithmetic, as a share of
// what the machine can do.
#pragma once

#include <cstdint>

#include "train/model_task.h"
#include "train/options.h"

namespace longformer::cli {

// Bytes.
struct TrainingMemory {
  uint64_t parameters = 0;   // their gradients and the optimizer's memory, too
  uint64_t batch = 0;        // of the largest batch
  int64_t batch_tokens = 0;  // in it
};
TrainingMemory training_memory(train::ModelTask& task, const train::TrainingOptions& options);

class TrainingSpeed {
 public:
  // Measures the machine, which takes a tenth of a second.
  TrainingSpeed(train::ModelTask& task, const train::TrainingOptions& options);
  // Operations that the model needs for so many tokens, by what the products of the engine reach on
  // all threads.
  double share_of_peak(double tokens_per_second) const;
  // What products in the training's type reach, by what they reach in f32.
  double gain_over_f32() const { return gain_over_f32_; }

 private:
  double flop_per_token_ = 0;
  double peak_ = 0;  // FLOP/s
  double gain_over_f32_ = 1;
};

}  // namespace longformer::cli
