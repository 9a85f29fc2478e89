#include "train/training_state.h"

#include <limits>

#include "longformer/error.h"

namespace longformer::train {
namespace {

constexpr int64_t kVersion = 1;

// NaN and infinities have no form in JSON of their own.
io::Json number(double value) {
  if (value != value) return "NaN";
  if (value == std::numeric_limits<double>::infinity()) return "inf";
  if (value == -std::numeric_limits<double>::infinity()) return "-inf";
  return value;
}

double number(const io::Json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

void read(const io::Json& json, TrainingState& state) {
  state.step = json.at("step").get<int64_t>();
  state.position.epoch = json.at("epoch").get<int64_t>();
  state.position.group = json.at("index").get<int64_t>();
  state.total_steps = json.at("total_steps").get<int64_t>();
  state.warmup_steps = json.at("warmup_steps").get<int64_t>();
  state.optimizer_steps = json.at("optimizer_steps").get<int64_t>();
  const io::Json& best = json.at("best");
  if (!best.is_null()) {
    state.best = BestModel{number(best.at("metric")), best.at("step").get<int64_t>()};
  }
  state.evaluations_without_gain = json.at("evaluations_without_gain").get<int64_t>();
  state.evaluated_step = json.at("evaluated_step").get<int64_t>();
  for (const auto& [name, value] : json.at("metrics").items()) state.metrics[name] = number(value);
  state.loss_window = json.at("loss_window").get<std::vector<double>>();
  state.norm_window = json.at("norm_window").get<std::vector<double>>();
  state.skipped = json.at("skipped").get<int64_t>();
  state.skipped_in_a_row = json.at("skipped_in_a_row").get<int64_t>();
  state.examples = json.at("examples").get<int64_t>();
  state.tokens = json.at("tokens").get<int64_t>();
  state.seconds = number(json.at("seconds"));
  state.last_loss = number(json.at("last_loss"));
  state.loss_sum = number(json.at("loss_sum"));
  state.loss_steps = json.at("loss_steps").get<int64_t>();
  state.options = json.at("options");
  state.identity = json.at("identity").get<std::string>();
}

}  // namespace

io::Json state_json(const TrainingState& state) {
  io::Json metrics = io::Json::object();
  for (const auto& [name, value] : state.metrics) metrics[name] = number(value);
  io::Json best;
  if (state.best) best = {{"metric", number(state.best->metric)}, {"step", state.best->step}};
  return {{"version", kVersion},
          {"step", state.step},
          {"epoch", state.position.epoch},
          {"index", state.position.group},
          {"total_steps", state.total_steps},
          {"warmup_steps", state.warmup_steps},
          {"optimizer_steps", state.optimizer_steps},
          {"best", best},
          {"evaluations_without_gain", state.evaluations_without_gain},
          {"evaluated_step", state.evaluated_step},
          {"metrics", metrics},
          {"loss_window", state.loss_window},
          {"norm_window", state.norm_window},
          {"skipped", state.skipped},
          {"skipped_in_a_row", state.skipped_in_a_row},
          {"examples", state.examples},
          {"tokens", state.tokens},
          {"seconds", number(state.seconds)},
          {"last_loss", number(state.last_loss)},
          {"loss_sum", number(state.loss_sum)},
          {"loss_steps", state.loss_steps},
          {"options", state.options},
          {"identity", state.identity}};
}

TrainingState state_from_json(const io::Json& json, const std::string& place) {
  TrainingState state;
  try {
    if (json.at("version") != kVersion) {
      throw Error(ErrorCode::kInvalidFile,
                  "is of version " + io::short_value(json.at("version")) + "; this program reads " +
                      std::to_string(kVersion) + ". Continue with the version that began the run",
                  place);
    }
    read(json, state);
  } catch (const io::Json::exception& error) {
    throw Error(ErrorCode::kInvalidFile, "is no state of a training: " + io::json_reason(error),
                place);
  }
  return state;
}

}  // namespace longformer::train
