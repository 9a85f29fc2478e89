// The log of a training in three forms: metrics.jsonl (one object a line), metrics.csv, and an
// event file of TensorBoard. A continued run cuts off what lies beyond the step that it continues
// from, so that each step stands there once.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/appended_file.h"
#include "io/json.h"
#include "train/records.h"

namespace longformer::train {

struct MetricsLogSettings {
  std::filesystem::path directory;
  int64_t resumed_step = 0;  // lines of later steps are cut off
  // Metrics of the evaluation that get a column in metrics.csv, whose columns never change.
  std::vector<std::string> evaluation_metrics = {"loss"};
  // Hears once of a metric that has none.
  std::function<void(const std::string&)> notice;
};

class MetricsLog {
 public:
  // Throws kIo where a file cannot be opened or another process writes it.
  explicit MetricsLog(MetricsLogSettings settings);

  void add(const LogRecord& record);
  void add(const EvaluationRecord& record);
  // Makes everything durable: before the checkpoint of the same step.
  void sync();

  static std::vector<std::string> columns(const std::vector<std::string>& evaluation_metrics);

 private:
  void open_csv();
  void open_events();
  // `numbers` follow step and epoch.
  void add_line(int64_t step, double epoch, const io::Json& numbers);

  MetricsLogSettings settings_;
  io::AppendedFile jsonl_, csv_;
  std::unique_ptr<io::AppendedFile> events_;
  std::vector<std::string> columns_, unknown_;
};

}  // namespace longformer::train
