// From the options of `longformer train` to what is trained: model, data, both sides of the split.
#pragma once

#include <filesystem>
#include <memory>

#include "cli/train_options.h"
#include "text/tokenizer.h"
#include "train/model_task.h"

namespace longformer::cli {

class TrainSetup {
 public:
  // Throws what loading, data sets and options throw.
  TrainSetup(const TrainCommand& command, const train::TrainingOptions& options);

  train::ModelTask& task() { return *task_; }
  // Metrics that the evaluation gives, "loss" first.
  std::vector<std::string> metrics() const;
  // Records of either side that could not be used.
  int64_t skipped() const { return skipped_; }

 private:
  void check_command() const;
  std::filesystem::path source_model() const;
  void make_long_model(const std::filesystem::path& from, const std::filesystem::path& to) const;
  TrainableModel load_model();
  void freeze(TrainableModel& model) const;
  std::unique_ptr<train::TrainingData> data(const std::vector<std::string>& files,
                                            train::SplitSide side) const;
  train::DataOptions data_options(const std::vector<std::string>& files,
                                  train::SplitSide side) const;
  std::vector<std::string> labels_of_data() const;
  std::vector<std::string> find_labels() const;
  void check_new_head(const TaskInfo& info) const;
  void report(const train::TrainingData& data, const char* what);

  const TrainCommand& command_;
  const train::TrainingOptions& options_;
  std::filesystem::path directory_;  // of the model
  text::Tokenizer tokenizer_;
  std::string problem_type_;
  int64_t skipped_ = 0;
  std::unique_ptr<train::DataModel> data_model_;
  std::unique_ptr<train::ModelTask> task_;
};

}  // namespace longformer::cli
