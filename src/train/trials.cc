#include "train/trials.h"

#include <algorithm>
#include <cmath>

#include "longformer/error.h"
#include "train/gradients.h"
#include "train/step.h"

namespace longformer::train {
namespace {

// One whole trial: values and gradients are as before when it ends, however it ends.
class Trial {
 public:
  Trial(TrainingTask& task, const TrainingOptions& options, ThreadPool& pool)
      : task_(task), options_(options), pool_(pool), saved_(task.parameters()) {
    check_trains_something(task.parameters());
    optimizer_ = make_optimizer(optimizer_settings(options), task.parameters());
  }
  ~Trial() {
    saved_.restore(task_.parameters());
    task_.parameters().clear_gradients(pool_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Returns whether the numbers were finite and the step was made.
  bool apply(const StepGradients& step, double learning_rate) {
    if (!std::isfinite(step.loss) || !std::isfinite(step.norm)) return false;
    optimizer_->step(task_.parameters(),
                     {learning_rate, clip_coefficient(step.norm, options_.max_grad_norm)}, pool_);
    return true;
  }

 private:
  TrainingTask& task_;
  const TrainingOptions& options_;
  ThreadPool& pool_;
  SavedValues saved_;
  std::unique_ptr<Optimizer> optimizer_;
};

Batch first_batch_with_labels(TrainingTask& task, const TrainingOptions& options,
                              const StepKey& key) {
  BatchOrder order = batch_order(task, options);
  for (int64_t group = 0; group < order.groups(0); ++group) {
    for (Batch& batch : order.group({0, group})) {
      if (task.labels(batch, key) > 0) return std::move(batch);
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "has no label at all; give examples with labels",
              "the training set");
}

// The least-squares slope of the loss over the logarithm of the rate, of points [begin, end).
double slope_of(const std::vector<LearningRatePoint>& points, size_t begin, size_t end) {
  const auto count = static_cast<double>(end - begin);
  double x_mean = 0, y_mean = 0, xy = 0, xx = 0;
  for (size_t i = begin; i < end; ++i) {
    x_mean += std::log(points[i].learning_rate) / count;
    y_mean += points[i].loss / count;
  }
  for (size_t i = begin; i < end; ++i) {
    const double x = std::log(points[i].learning_rate) - x_mean;
    xy += x * (points[i].loss - y_mean);
    xx += x * x;
  }
  return xx > 0 ? xy / xx : 0;
}

// Where the loss falls fastest, before its lowest point. Batches differ more than neighbouring
// rates do: slopes are taken over `width` points.
double fastest_fall(const std::vector<LearningRatePoint>& points, size_t width) {
  const auto lowest =
      std::min_element(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.smoothed < b.smoothed; });
  const auto last = static_cast<size_t>(lowest - points.begin());
  double steepest = 0, rate = 0;
  for (size_t begin = 0; begin + width <= points.size() && begin + width / 2 <= last; ++begin) {
    const double slope = slope_of(points, begin, begin + width);
    if (slope >= steepest) continue;
    steepest = slope;
    rate = points[begin + width / 2].learning_rate;
  }
  return rate;
}

}  // namespace

OverfitResult overfit_one_batch(TrainingTask& task, const TrainingOptions& options,
                                const std::function<bool()>& stop, ThreadPool& pool) {
  constexpr double kLearnt = 0.1;
  const StepKey key = {static_cast<uint64_t>(options.seed), 0, 0};
  const std::vector<Batch> batches = {first_batch_with_labels(task, options, key)};
  Trial trial(task, options, pool);
  OverfitResult result;
  for (int64_t step = 0; step <= options.overfit_one_batch; ++step) {
    const StepGradients gradients = compute_gradients(task, batches, key, stop, pool);
    if (gradients.completion == Completion::kStopped) {
      result.verdict = OverfitResult::Verdict::kStopped;
      return result;
    }
    if (step == 0) result.first_loss = gradients.loss;
    result.last_loss = gradients.loss;
    result.steps = step;
    if (step > 0 && gradients.loss < kLearnt * result.first_loss) {
      result.verdict = OverfitResult::Verdict::kLearnt;
      return result;
    }
    if (!trial.apply(gradients, options.learning_rate)) return result;
  }
  return result;
}

LearningRateSearch find_learning_rate(TrainingTask& task, const TrainingOptions& options,
                                      const std::function<bool()>& stop, ThreadPool& pool) {
  constexpr double kLowest = 1e-7, kHighest = 1, kKeep = 0.9, kExploded = 4;
  BatchOrder order = batch_order(task, options);
  Trial trial(task, options, pool);
  LearningRateSearch search;
  Position position;
  double average = 0, best = 0;
  const int64_t steps = options.find_learning_rate;
  for (int64_t step = 0; step < steps; ++step, position = order.after(position)) {
    const StepKey key = {static_cast<uint64_t>(options.seed), step, position.epoch};
    const double share =
        static_cast<double>(step) / static_cast<double>(std::max<int64_t>(steps - 1, 1));
    const double rate = kLowest * std::pow(kHighest / kLowest, share);
    const StepGradients gradients = compute_gradients(task, order.group(position), key, stop, pool);
    if (gradients.completion == Completion::kStopped) break;
    if (gradients.labels == 0) continue;
    if (!trial.apply(gradients, rate)) break;
    average = kKeep * average + (1 - kKeep) * gradients.loss;
    const auto count = static_cast<double>(search.points.size() + 1);
    const double smoothed = average / (1 - std::pow(kKeep, count));
    search.points.push_back({rate, gradients.loss, smoothed});
    if (search.points.size() == 1 || smoothed < best) best = smoothed;
    if (smoothed > kExploded * best) break;
  }
  constexpr int64_t kDecades = 7, kFewest = 3;  // from the lowest rate to the highest
  const auto width = static_cast<size_t>(std::max(steps / kDecades, kFewest));
  if (!search.points.empty()) search.suggested = fastest_fall(search.points, width);
  return search;
}

}  // namespace longformer::train
