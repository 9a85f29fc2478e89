// An encoder with a head whose weights are parameters: loss and gradients of a batch. It is built
// from the tables that TaskModel is built from (family.h, heads.h) and runs the same layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longformer/task_model.h"
#include "models/dropout_settings.h"
#include "models/task_loss.h"
#include "models/training_batch.h"
#include "nn/parameters.h"
#include "nn/stack_training.h"

namespace longformer {

// Where a training begins.
enum class StartWeights {
  kStored,  // with the checkpoint's, and a new head where it has none
  kFresh,   // with numbers of models/fresh_weights.h; weights in the directory are not read
};

struct TrainableOptions {
  // load.compute: kF32, or kBf16 for products in bf16 over f32 parameters, sums and derivatives of
  // weights. load.positions must stay kTrained.
  TaskOptions task;
  StartWeights start = StartWeights::kStored;  // kFresh draws from task.seed
  Activations activations = Activations::kKept;
  double label_smoothing = 0;  // of exclusive classes, in [0, 1)
  // Of a new head, instead of the labels and the problem_type of config.json. Where the checkpoint
  // has a head for other labels, its output matrix makes room for a new one. Empty: as stored.
  std::vector<std::string> labels;
  std::string problem_type;
};

// What a pass counts and how.
struct TrainingPass {
  double scale = 1;                 // of the gradients: of the sum of the labels' losses
  std::optional<uint64_t> dropout;  // key of this step's draws; none: nothing is dropped
};

struct TrainingLoss {
  double sum = 0;      // over labels
  int64_t labels = 0;  // that counted
};

class TrainableModel {
 public:
  // Throws as TaskModel::load(); kUnsupported for int8 weights and for positions beyond training.
  static TrainableModel load(const std::filesystem::path& directory,
                             const TrainableOptions& options);
  TrainableModel(TrainableModel&&) noexcept;
  TrainableModel& operator=(TrainableModel&&) noexcept;
  ~TrainableModel();

  const TaskInfo& info() const;
  const EncoderConfig& config() const;
  const std::shared_ptr<ThreadPool>& pool() const;
  const std::vector<std::string>& overrides() const;  // EncoderInfo::overrides

  // By the names that the reference's class gives them; tied tensors once, under the first. All are
  // trained at first.
  ParameterSet& parameters();
  const ParameterSet& parameters() const;

  // Adds pass.scale times the derivative of the summed loss to the gradients of the parameters that
  // are trained. An empty global_attention_mask means the task's default. Throws
  // kInvalidArgument as Encoder::encode(), and naming sequence and range for labels that do not
  // fit.
  TrainingLoss accumulate(const TrainingBatch& batch, const TrainingPass& pass);

  // The same pass, watched: names the first place with a number that is NaN or infinite, in the
  // order of the work: parameters, embeddings, layers, loss, and the derivatives on the way back.
  // Empty where there is none. Gradients are added to as by accumulate().
  std::string find_anomaly(const TrainingBatch& batch, const TrainingPass& pass);

  // Loss of a batch, and the logits behind it, without dropout and without a way back. Logits are
  // those of the rows that the loss reads (TaskLoss); `first` counts them.
  using LogitsSink =
      std::function<void(const TaskLoss& loss, int64_t first, int64_t count, const float* logits)>;
  TrainingLoss evaluate(const TrainingBatch& batch, const LogitsSink& sink);

  // Floating-point operations of the matrix products that accumulate() needs for a batch: forward,
  // and on the way back those by inputs and by weights, of what is trained. Only pairs that the
  // pattern counts; what is computed twice to save memory counts once.
  double flop(const TrainingBatch& batch) const;

  // Bytes that accumulate() takes for a batch like this, beside the parameters.
  uint64_t bytes_for(const TrainingBatch& batch) const;

 private:
  struct Impl;
  class Pass;
  explicit TrainableModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer
