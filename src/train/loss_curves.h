// The curves of a training, from its metrics.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace longformer::train {

struct CurvePoint {
  double step = 0, value = 0;
};

struct LossCurves {
  std::string name;                                              // of the run's directory
  std::vector<CurvePoint> train_loss, eval_loss, learning_rate;  // finite values only
};

// `run` is a run's directory or its metrics.jsonl. A last line that is still being written is left
// out. Throws kNotFound, kIo, or kInvalidFile with the line.
LossCurves read_loss_curves(const std::filesystem::path& run);

}  // namespace longformer::train
