// Trainings of a tiny task in directories of their own, and what was heard of them.
#pragma once

#include <gtest/gtest.h>

#include "train/memory_directory.h"
#include "train/tiny_task.h"
#include "train/trainer.h"

namespace longformer::train {

using test::TinyTask;

inline TrainingOptions tiny_options() {
  TrainingOptions options;
  options.learning_rate = 0.02;
  options.weight_decay = 0.01;
  options.max_steps = 40;
  options.per_device_train_batch_size = 3;
  options.gradient_accumulation_steps = 2;
  options.warmup_ratio = 0.1;
  options.logging_steps = 5;
  options.save_steps = 7;
  options.save_total_limit = 0;
  return options;
}

class Trainer : public testing::Test {
 protected:
  std::filesystem::path run(const std::string& name = "run") const {
    return directory_.path() / name;
  }

  TrainerSettings settings(const TrainingOptions& options, const std::string& name = "run") {
    TrainerSettings result;
    result.options = options;
    result.directory = run(name);
    result.start = RunStart::kContinue;
    result.version = "test";
    result.listener.notice = [this](const std::string& text) { notices_ += text + "\n"; };
    result.listener.logged = [this](const LogRecord& record) { logged_.push_back(record); };
    result.listener.evaluated = [this](const EvaluationRecord& record) {
      evaluated_.push_back(record);
    };
    return result;
  }

  TrainingResult train_tiny(TinyTask& task, const TrainingOptions& options,
                            const std::string& name = "run") {
    return train(task, settings(options, name), pool_);
  }

  static std::vector<int64_t> steps_in(const std::filesystem::path& path) {
    return RunDirectory(path, RunStart::kContinue, real_system_calls()).steps();
  }

  bool noticed(const std::string& part) const { return notices_.find(part) != std::string::npos; }

  test::MemoryDirectory directory_;
  ThreadPool pool_{2};
  std::string notices_;
  std::vector<LogRecord> logged_;
  std::vector<EvaluationRecord> evaluated_;
};

}  // namespace longformer::train
