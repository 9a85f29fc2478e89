// Where a training stands, but for weights and the optimizer's memory: what state.json of a
// checkpoint holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "train/batches.h"

namespace longformer::train {

struct BestModel {
  double metric = 0;
  int64_t step = 0;
};

struct TrainingState {
  int64_t step = 0;         // steps done, those that were skipped included
  Position position;        // of the next step's examples
  int64_t total_steps = 0;  // that the schedule was made for
  int64_t warmup_steps = 0;
  int64_t optimizer_steps = 0;  // without those that were skipped

  std::optional<BestModel> best;
  int64_t evaluations_without_gain = 0;
  int64_t evaluated_step = -1;            // of the last evaluation; -1: none
  std::map<std::string, double> metrics;  // what it said

  std::vector<double> loss_window, norm_window;  // the last values that outliers are told from
  int64_t skipped = 0, skipped_in_a_row = 0;
  int64_t examples = 0, tokens = 0;
  double seconds = 0;
  double last_loss = 0;
  double loss_sum = 0;  // of the steps since the last log line
  int64_t loss_steps = 0;

  io::Json options = io::Json::object();
  std::string identity;  // TrainingTask::identity()
};

io::Json state_json(const TrainingState& state);
// Throws kInvalidFile with `place` and the first key that is not there or of another type.
TrainingState state_from_json(const io::Json& json, const std::string& place);

}  // namespace longformer::train
