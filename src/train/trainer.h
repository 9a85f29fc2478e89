// The training loop: batches, gradients, clipping, what to do about bad numbers, the schedule,
// logs, evaluations, checkpoints, and going on where a process ended. Prints nothing: it reports to
// a listener and in its result.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "train/options.h"
#include "train/records.h"
#include "train/run_directory.h"
#include "train/training_state.h"
#include "train/training_task.h"

namespace longformer::train {

// Any of them may be empty. Called on the thread that trains.
struct TrainerListener {
  std::function<void(int64_t step, int64_t total_steps)> stepped;
  std::function<void(const LogRecord&)> logged;
  std::function<void(const EvaluationRecord&)> evaluated;
  std::function<void(const std::filesystem::path& checkpoint)> saved;
  std::function<void(const std::string&)> notice;  // a sentence that a person should see
};

struct TrainerSettings {
  TrainingOptions options;
  std::filesystem::path directory;  // of the run
  RunStart start = RunStart::kNew;
  // Asked before each batch; true: write a checkpoint of the last whole step, and end.
  std::function<bool()> stop;
  TrainerListener listener;
  // Those that get a column in metrics.csv.
  std::vector<std::string> evaluation_metrics = {"loss"};
  std::string version;           // of the program, for the manifests
  SystemCalls* calls = nullptr;  // null: the system's
};

enum class Ending {
  kFinished,      // all steps were made
  kStoppedEarly,  // the metric did not get better any more
  kInterrupted,   // stop() said so; continue with RunStart::kContinue
  kDiverged,      // nan_policy said so; the checkpoints from before are there
};

struct TrainingResult {
  Ending ending = Ending::kFinished;
  std::string reason;  // of kDiverged and kStoppedEarly: a sentence
  int64_t step = 0, total_steps = 0;
  int64_t resumed_step = 0;  // 0: began anew
  double epoch = 0;
  double loss = 0;                        // of the last step
  std::map<std::string, double> metrics;  // of the last evaluation
  std::optional<BestModel> best;
  int64_t model_step = -1;      // of the weights that the task now has, and that model/ holds
  std::filesystem::path model;  // empty: none was written (interrupted, diverged)
  int64_t examples = 0, tokens = 0, skipped = 0;
  double seconds = 0;
};

// Throws kInvalidArgument for options that do not go together, for a run that cannot be continued
// so (naming each difference), for a metric that the evaluation lacks; kIo and kInvalidFile from
// the run's directory. What was saved stays in every case.
TrainingResult train(TrainingTask& task, const TrainerSettings& settings, ThreadPool& pool);

}  // namespace longformer::train
