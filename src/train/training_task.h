// What the trainer trains: parameters, examples, and a loss whose gradient it may ask for. The
// trainer knows nothing else of models and data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "nn/parameters.h"

namespace longformer::train {

// Where in the training a batch stands; all randomness is a function of it, of the seed and of the
// example's number.
struct StepKey {
  uint64_t seed = 0;
  int64_t step = 0;   // optimizer steps done so far
  int64_t epoch = 0;  // passes over the data set done so far
};

struct BatchLoss {
  double sum = 0;      // over labels
  int64_t labels = 0;  // that counted
  int64_t tokens = 0;  // that were read
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual ParameterSet& parameters() = 0;
  // Examples of the training set, and the tokens of one.
  virtual int64_t examples() const = 0;
  virtual int64_t tokens(int64_t example) const = 0;
  // The labels that accumulate() would count, known without running the model.
  virtual int64_t labels(std::span<const int64_t> examples, const StepKey& key) = 0;
  // Runs the examples as one batch and adds `scale` times the gradient of their summed loss to the
  // gradients of parameters that are not frozen.
  virtual BatchLoss accumulate(std::span<const int64_t> examples, const StepKey& key,
                               double scale) = 0;
  // Runs the batch again as accumulate() did, gradients included, and names the first place with a
  // number that is NaN or infinite. Empty where there is none, or where the task cannot tell.
  virtual std::string find_anomaly(std::span<const int64_t> examples, const StepKey& key) {
    (void)examples, (void)key;
    return {};
  }
  // On the evaluation set, without dropout: "loss" and what else the task measures. Empty where
  // there is no such set.
  virtual std::map<std::string, double> evaluate() = 0;
  // The model as a checkpoint directory (exists, empty) that others load: config, weights,
  // tokenizer.
  virtual void save_model(const std::filesystem::path& directory) = 0;
  // What resuming must find unchanged: a line a fact ("data notes.jsonl sha256 …", "tokens 4096").
  virtual std::string identity() const = 0;
};

}  // namespace longformer::train
