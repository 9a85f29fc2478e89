#include "train/step.h"

#include <algorithm>

#include "longformer/error.h"
#include "train/gradients.h"

namespace longformer::train {

StepGradients compute_gradients(TrainingTask& task, const std::vector<Batch>& batches,
                                const StepKey& key, const std::function<bool()>& stop,
                                ThreadPool& pool) {
  StepGradients step;
  for (const Batch& batch : batches) step.labels += task.labels(batch, key);
  task.parameters().clear_gradients(pool);
  const double scale = step.labels > 0 ? 1.0 / static_cast<double>(step.labels) : 0.0;
  double sum = 0;
  int64_t counted = 0;
  for (const Batch& batch : batches) {
    if (stop && stop()) {
      step.completion = Completion::kStopped;
      return step;
    }
    step.examples += static_cast<int64_t>(batch.size());
    if (step.labels == 0) continue;
    const BatchLoss loss = task.accumulate(batch, key, scale);
    sum += loss.sum;
    counted += loss.labels;
    step.tokens += loss.tokens;
  }
  if (counted != step.labels) {
    throw Error(ErrorCode::kInternal, "a step announced " + std::to_string(step.labels) +
                                          " labels and counted " + std::to_string(counted));
  }
  step.loss = sum * scale;
  if (step.labels > 0) step.norm = gradient_norm(task.parameters(), pool);
  return step;
}

OptimizerSettings optimizer_settings(const TrainingOptions& options) {
  OptimizerSettings settings = {.weight_decay = options.weight_decay,
                                .beta1 = options.adam_beta1,
                                .beta2 = options.adam_beta2,
                                .epsilon = options.adam_epsilon,
                                .momentum = options.sgd_momentum};
  if (options.optim == "adafactor") settings.kind = OptimizerKind::kAdafactor;
  if (options.optim == "sgd") settings.kind = OptimizerKind::kSgd;
  return settings;
}

BatchSettings batch_settings(const TrainingOptions& options) {
  return {.batch_size = options.per_device_train_batch_size,
          .tokens_per_batch = options.tokens_per_batch,
          .accumulation_steps = options.gradient_accumulation_steps,
          .group_by_length = options.group_by_length,
          .seed = static_cast<uint64_t>(options.seed)};
}

BatchOrder batch_order(const TrainingTask& task, const TrainingOptions& options) {
  std::vector<int64_t> lengths(static_cast<size_t>(task.examples()));
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = task.tokens(static_cast<int64_t>(i));
  return {batch_settings(options), std::move(lengths)};
}

void check_trains_something(const ParameterSet& parameters) {
  if (parameters.trained_elements() > 0) return;
  throw Error(ErrorCode::kInvalidArgument,
              "every parameter is frozen, so there is nothing to train; freeze fewer", "the model");
}

SavedValues::SavedValues(const ParameterSet& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    values_.emplace_back(parameter.value, parameter.value + parameter.elements);
  }
}

void SavedValues::restore(ParameterSet& parameters) const {
  for (size_t p = 0; p < values_.size(); ++p) {
    std::copy(values_[p].begin(), values_[p].end(), parameters.all()[p].value);
  }
}

}  // namespace longformer::train
