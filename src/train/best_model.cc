#include "train/best_model.h"

#include <cmath>

#include "longformer/error.h"

namespace longformer::train {
namespace {

double metric_of(const TrainingOptions& options, const std::map<std::string, double>& metrics) {
  constexpr std::string_view kPrefix = "eval_";  // both ways of the reference
  std::string name = options.metric_for_best_model;
  if (metrics.find(name) == metrics.end() && name.starts_with(kPrefix)) {
    name.erase(0, kPrefix.size());
  }
  const auto found = metrics.find(name);
  if (found != metrics.end()) return found->second;
  std::string known;
  for (const auto& [other, value] : metrics) known += (known.empty() ? "" : ", ") + other;
  throw Error(ErrorCode::kInvalidArgument,
              "is \"" + options.metric_for_best_model + "\"; the evaluation gives " + known,
              "metric_for_best_model");
}

}  // namespace

BestSoFar note_evaluation(const TrainingOptions& options,
                          const std::map<std::string, double>& metrics, TrainingState& state) {
  const double value = metric_of(options, metrics);
  state.metrics = metrics;
  state.evaluated_step = state.step;
  const auto gain = [&] {
    const double more = value - state.best->metric;
    return greater_is_better(options) ? more : -more;
  };
  const bool better = !std::isnan(value) && (!state.best || gain() > 0);
  const bool enough = better && (!state.best || gain() > options.early_stopping_threshold);
  state.evaluations_without_gain = enough ? 0 : state.evaluations_without_gain + 1;
  if (!better) return BestSoFar::kNo;
  state.best = BestModel{value, state.step};
  return BestSoFar::kYes;
}

bool out_of_patience(const TrainingOptions& options, const TrainingState& state) noexcept {
  return options.early_stopping_patience > 0 &&
         state.evaluations_without_gain >= options.early_stopping_patience;
}

}  // namespace longformer::train
