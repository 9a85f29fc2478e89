#include "train/model_task.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/random.h"
#include "io/hash.h"
#include "train/evaluation.h"

namespace longformer::train {
namespace {

constexpr uint64_t kDropoutStream = 0x64726f70;  // apart from what else is drawn from the seed

uint64_t dropout_key(const StepKey& key) {
  return random_bits(random_bits(key.seed, kDropoutStream), static_cast<uint64_t>(key.step));
}

}  // namespace

ModelTask::ModelTask(ModelTaskParts parts) : parts_(std::move(parts)) {}

ParameterSet& ModelTask::parameters() { return parts_.model.parameters(); }
int64_t ModelTask::examples() const { return parts_.train->examples(); }
int64_t ModelTask::tokens(int64_t example) const { return parts_.train->tokens(example); }

TrainingBatch ModelTask::batch_of(std::span<const int64_t> examples, const StepKey& key) {
  const bool same =
      built_for_.seed == key.seed && built_for_.step == key.step && built_for_.epoch == key.epoch;
  if (!same) built_.clear();
  built_for_ = key;
  TrainingBatch batch;
  for (const int64_t example : examples) {
    auto found = built_.find(example);
    if (found == built_.end()) {
      found = built_.emplace(example, parts_.train->example(example, key.seed, key.epoch)).first;
    }
    append(found->second, batch);
  }
  return batch;
}

int64_t ModelTask::labels(std::span<const int64_t> examples, const StepKey& key) {
  parts_.train->check_unchanged();
  return count_labels(batch_of(examples, key).targets);
}

BatchLoss ModelTask::accumulate(std::span<const int64_t> examples, const StepKey& key,
                                double scale) {
  const TrainingBatch batch = batch_of(examples, key);
  const TrainingLoss loss = parts_.model.accumulate(batch, {scale, dropout_key(key)});
  return {loss.sum, loss.labels, static_cast<int64_t>(batch.input.input_ids.size())};
}

std::string ModelTask::find_anomaly(std::span<const int64_t> examples, const StepKey& key) {
  return parts_.model.find_anomaly(batch_of(examples, key), {1, dropout_key(key)});
}

std::map<std::string, double> ModelTask::evaluate() {
  if (parts_.evaluation == nullptr || parts_.evaluation->examples() == 0) return {};
  const TrainingData& data = *parts_.evaluation;
  data.check_unchanged();
  Evaluation evaluation(parts_.model.info());
  int64_t next = 0;
  while (next < data.examples()) {
    TrainingBatch batch;
    int64_t tokens = 0;
    do {
      // Epoch 0 of seed 0, so that what is masked is the same each time.
      append(data.example(next, 0, 0), batch);
      tokens += data.tokens(next++);
    } while (next < data.examples() && tokens + data.tokens(next) <= parts_.evaluation_tokens);
    evaluation.begin(batch);
    const TrainingLoss loss = parts_.model.evaluate(
        batch, [&](const TaskLoss& of, int64_t first, int64_t count, const float* logits) {
          evaluation.add(of, first, count, logits);
        });
    evaluation.add_loss(loss.sum, loss.labels);
  }
  return evaluation.scores();
}

void ModelTask::save_model(const std::filesystem::path& directory) {
  longformer::save_model(parts_.model, parts_.source, directory, parts_.global);
}

std::string ModelTask::identity() const {
  // The weights of a checkpoint mean something in the network of one config.json only.
  std::string text = "model " + parts_.model.info().model_class + "\nconfig.json sha256 " +
                     io::sha256_file(parts_.source / "config.json") + "\n";
  for (const std::string& label : parts_.model.info().labels) text += "label " + label + "\n";
  for (const std::string& change : parts_.model.overrides()) text += "override " + change + "\n";
  for (const Parameter& parameter : parts_.model.parameters().all()) {
    if (parameter.frozen()) text += "frozen " + parameter.spec.name + "\n";
  }
  text += parts_.train->identity();
  if (parts_.evaluation != nullptr) text += "evaluation\n" + parts_.evaluation->identity();
  return text;
}

}  // namespace longformer::train
