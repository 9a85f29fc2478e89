// A model and its data as a TrainingTask.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/save_model.h"
#include "models/trainable_model.h"
#include "train/data/training_data.h"
#include "train/training_task.h"

namespace longformer::train {

struct ModelTaskParts {
  TrainableModel model;
  std::filesystem::path source;  // the model's directory: what goes along with the weights
  std::unique_ptr<TrainingData> train;
  std::unique_ptr<TrainingData> evaluation;  // null: none
  GlobalProjections global = GlobalProjections::kAsTrained;
  int64_t evaluation_tokens = 8192;  // of a batch of evaluate()
};

class ModelTask final : public TrainingTask {
 public:
  explicit ModelTask(ModelTaskParts parts);

  TrainableModel& model() { return parts_.model; }
  const TrainingData& train_data() const { return *parts_.train; }

  ParameterSet& parameters() override;
  int64_t examples() const override;
  int64_t tokens(int64_t example) const override;
  int64_t labels(std::span<const int64_t> examples, const StepKey& key) override;
  BatchLoss accumulate(std::span<const int64_t> examples, const StepKey& key,
                       double scale) override;
  // "loss", and by task: masked LM "accuracy" and "bits" a masked token; classes and choices
  // "accuracy"; tags "accuracy" of tokens and "f1" of entities; answers "exact" spans; several
  // labels "accuracy" of each decision.
  std::string find_anomaly(std::span<const int64_t> examples, const StepKey& key) override;
  std::map<std::string, double> evaluate() override;
  void save_model(const std::filesystem::path& directory) override;
  std::string identity() const override;

 private:
  TrainingBatch batch_of(std::span<const int64_t> examples, const StepKey& key);

  ModelTaskParts parts_;
  // What labels() has built, for accumulate(): the examples of one step.
  StepKey built_for_;
  std::map<int64_t, TrainingBatch> built_;
};

}  // namespace longformer::train
