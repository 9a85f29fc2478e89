#include "train/trainer.h"

#include <chrono>
#include <cmath>

#include "longformer/error.h"
#include "train/best_model.h"
#include "train/gradients.h"
#include "train/metrics_log.h"
#include "train/outliers.h"
#include "train/resume.h"
#include "train/schedule.h"
#include "train/step.h"

namespace longformer::train {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Function, typename... Values>
void tell(const Function& function, const Values&... values) {
  if (function) function(values...);
}

class Training {
 public:
  Training(TrainingTask& task, const TrainerSettings& settings, ThreadPool& pool)
      : task_(task),
        options_(settings.options),
        settings_(settings),
        pool_(pool),
        order_(batch_order(task, settings.options)),
        directory_(settings.directory, settings.start,
                   settings.calls != nullptr ? *settings.calls : real_system_calls()),
        optimizer_(make_optimizer(optimizer_settings(settings.options), task.parameters())) {}

  TrainingResult run() {
    begin();
    try {
      train();
    } catch (const Error&) {
      // The steps so far are good, whatever happened to data, log or evaluation.
      if (state_.step > 0) save_if_possible();
      throw;
    }
    return finish();
  }

 private:
  void train() {
    if (options_.eval_on_start && state_.step == 0) evaluate();
    while (!ended_) {
      if (state_.step >= state_.total_steps) {
        ended_ = Ending::kFinished;
      } else if (out_of_patience(options_, state_)) {
        ended_ = Ending::kStoppedEarly;
        reason_ = std::to_string(state_.evaluations_without_gain) +
                  " evaluations in a row did not better " + options_.metric_for_best_model;
      } else {
        one_step();
      }
    }
  }

  void save_if_possible() {
    try {
      save();
    } catch (const Error& error) {
      notice(std::string("the last steps could not be saved: ") + error.what());
    }
  }

  void notice(const std::string& text) { tell(settings_.listener.notice, text); }

  void begin() {
    const int64_t total =
        options_.max_steps > 0 ? options_.max_steps : order_.groups_in(options_.num_train_epochs);
    state_.total_steps = total;
    const auto step = directory_.newest_valid([&](const std::string& text) { notice(text); });
    if (step) {
      resume(directory_.checkpoint(*step), total);
    } else if (settings_.start == RunStart::kContinue) {
      notice(directory_.path().string() + " holds no checkpoint: training begins anew");
    }
    state_.warmup_steps = warmup_steps(options_.warmup_steps, options_.warmup_ratio, total);
    state_.options = options_json(options_);
    state_.identity = task_.identity();
    schedule_ = {schedule_kind(options_.lr_scheduler_type), options_.learning_rate,
                 state_.warmup_steps, total};
    seconds_before_ = state_.seconds;
    logged_tokens_ = state_.tokens;
    started_ = Clock::now();
    log_ = std::make_unique<MetricsLog>(
        MetricsLogSettings{.directory = directory_.path(),
                           .resumed_step = state_.step,
                           .evaluation_metrics = settings_.evaluation_metrics,
                           .notice = [this](const std::string& text) { notice(text); }});
  }

  void resume(const std::filesystem::path& checkpoint, int64_t total) {
    TrainingState saved = read_state(checkpoint);
    check_resume(saved, {options_, task_.identity(), total}, directory_.path().string(),
                 [&](const std::string& text) { notice(text); });
    read_weights(checkpoint, task_.parameters());
    read_optimizer(checkpoint, *optimizer_, saved);
    state_ = std::move(saved);
    state_.total_steps = total;
    resumed_step_ = saved_step_ = state_.step;
  }

  void one_step() {
    const Clock::time_point start = Clock::now();
    const StepKey key = {static_cast<uint64_t>(options_.seed), state_.step, state_.position.epoch};
    const std::vector<Batch> batches = order_.group(state_.position);
    const StepGradients gradients = compute_gradients(task_, batches, key, settings_.stop, pool_);
    if (gradients.completion == Completion::kStopped) {
      ended_ = Ending::kInterrupted;
      return;
    }
    const double learning_rate = schedule_.at(state_.step);
    if (is_usable(gradients, batches, key)) {
      optimizer_->step(task_.parameters(),
                       {learning_rate, clip_coefficient(gradients.norm, options_.max_grad_norm)},
                       pool_);
    }
    if (ended_) return;
    ++state_.step;
    state_.position = order_.after(state_.position);
    state_.optimizer_steps = optimizer_->steps();
    state_.examples += gradients.examples;
    state_.tokens += gradients.tokens;
    step_seconds_ += since(start);
    tell(settings_.listener.stepped, state_.step, state_.total_steps);
    if (state_.step % options_.logging_steps == 0 || state_.step == state_.total_steps) {
      log(gradients.norm, learning_rate);
    }
    const bool due = options_.eval_steps > 0 ? state_.step % options_.eval_steps == 0
                                             : state_.position.group == 0;
    const BestSoFar best = due ? evaluate() : BestSoFar::kNo;
    if ((options_.save_steps > 0 && state_.step % options_.save_steps == 0) ||
        (best == BestSoFar::kYes && options_.keep_best)) {
      save();
    }
  }

  // False: the step is left out. May end the training.
  bool is_usable(const StepGradients& gradients, const std::vector<Batch>& batches,
                 const StepKey& key) {
    if (gradients.labels == 0) {
      ++state_.skipped;
      warn_once(no_labels_, "a batch has no label at all and teaches nothing");
      return false;
    }
    if (!std::isfinite(gradients.loss) || !std::isfinite(gradients.norm)) {
      skip_not_finite(gradients, first_anomaly(batches, key));
      return false;
    }
    state_.skipped_in_a_row = 0;
    watch(gradients);
    state_.last_loss = gradients.loss;
    state_.loss_sum += gradients.loss;
    ++state_.loss_steps;
    return !is_outlier(gradients);
  }

  // Empty where nobody asked, or nothing was found.
  std::string first_anomaly(const std::vector<Batch>& batches, const StepKey& key) {
    for (size_t b = 0; options_.detect_anomaly && b < batches.size(); ++b) {
      const std::string found = task_.find_anomaly(batches[b], key);
      if (!found.empty()) return found;
    }
    return {};
  }

  void skip_not_finite(const StepGradients& gradients, const std::string& anomaly) {
    constexpr int64_t kMostInARow = 3;
    const std::string where =
        anomaly.empty() ? first_not_finite(task_.parameters()) : std::string();
    const std::string what = "step " + std::to_string(state_.step + 1) + " has " +
                             (std::isfinite(gradients.loss) ? "a gradient" : "a loss") +
                             " that is NaN or infinite" +
                             (where.empty() ? "" : " (first: the gradient of " + where + ")") +
                             (anomaly.empty() ? "" : " (first: " + anomaly + ")");
    ++state_.skipped;
    ++state_.skipped_in_a_row;
    const bool stops = options_.nan_policy == "stop" ||
                       (options_.nan_policy == "skip" && state_.skipped_in_a_row >= kMostInARow);
    if (!stops) {
      notice(what + "; it is left out");
      return;
    }
    ended_ = Ending::kDiverged;
    reason_ = what + (options_.nan_policy == "skip" ? ", the third in a row" : "") +
              "; try a lower learning rate, or look at the examples";
  }

  bool is_outlier(const StepGradients& gradients) {
    if (options_.outlier_zscore <= 0) return false;
    const double loss = add_and_score(state_.loss_window, gradients.loss);
    const double norm = add_and_score(state_.norm_window, gradients.norm);
    if (loss <= options_.outlier_zscore && norm <= options_.outlier_zscore) return false;
    ++state_.skipped;
    const bool by_loss = loss > options_.outlier_zscore;
    notice("step " + std::to_string(state_.step + 1) + " is left out: its " +
           (by_loss ? "loss" : "gradient norm") + " lies far above that of the last steps");
    return true;
  }

  // Signs that nothing is learnt.
  void watch(const StepGradients& gradients) {
    constexpr int64_t kManySteps = 20;
    constexpr double kRounding = 1e-9;  // another order of the same examples
    const double change = std::abs(gradients.loss - previous_loss_);
    equal_losses_ = change <= kRounding * std::abs(gradients.loss) ? equal_losses_ + 1 : 0;
    previous_loss_ = gradients.loss;
    if (gradients.norm == 0) {
      warn_once(no_gradient_,
                "the gradient is zero: no parameter that is trained has an effect on "
                "the loss");
    }
    if (equal_losses_ >= kManySteps) {
      warn_once(constant_, "the loss has been the same for " + std::to_string(kManySteps) +
                               " steps: the model's outputs are constant");
    }
  }

  void warn_once(bool& warned, const std::string& text) {
    if (!warned) notice(text);
    warned = true;
  }

  double epoch() {
    return static_cast<double>(state_.position.epoch) +
           static_cast<double>(state_.position.group) /
               static_cast<double>(order_.groups(state_.position.epoch));
  }

  void log(double norm, double learning_rate) {
    state_.seconds = seconds_before_ + since(started_);
    const auto tokens = static_cast<double>(state_.tokens - logged_tokens_);
    const double steps = static_cast<double>(state_.loss_steps);
    const LogRecord record = {.step = state_.step,
                              .total_steps = state_.total_steps,
                              .epoch = epoch(),
                              .loss = steps > 0 ? state_.loss_sum / steps : std::nan(""),
                              .grad_norm = norm,
                              .learning_rate = learning_rate,
                              .tokens = state_.tokens,
                              .seconds = state_.seconds,
                              .tokens_per_second = step_seconds_ > 0 ? tokens / step_seconds_ : 0,
                              .skipped = state_.skipped};
    state_.loss_sum = 0;
    state_.loss_steps = 0;
    step_seconds_ = 0;
    logged_tokens_ = state_.tokens;
    log_->add(record);
    tell(settings_.listener.logged, record);
  }

  BestSoFar evaluate() {
    if (state_.evaluated_step == state_.step || nothing_to_evaluate_) return BestSoFar::kNo;
    const std::map<std::string, double> metrics = task_.evaluate();
    nothing_to_evaluate_ = metrics.empty();
    if (nothing_to_evaluate_) {
      if (options_.early_stopping_patience > 0) {
        notice("there is no evaluation set, so training cannot end early");
      }
      return BestSoFar::kNo;
    }
    const EvaluationRecord record = {state_.step, epoch(), metrics,
                                     note_evaluation(options_, metrics, state_)};
    log_->add(record);
    tell(settings_.listener.evaluated, record);
    return record.best;
  }

  // Weights that are no numbers are no checkpoint, and must not push out a good one.
  bool weights_are_good() {
    const std::string place = first_value_not_finite(task_.parameters());
    if (place.empty()) return true;
    ended_ = Ending::kDiverged;
    reason_ = "a weight is NaN or infinite after step " + std::to_string(state_.step) + " (" +
              place + "); try a lower learning rate";
    return false;
  }

  void save() {
    if (saved_step_ == state_.step || !weights_are_good()) return;
    state_.seconds = seconds_before_ + since(started_);
    log_->sync();
    KeepRule keep = {.limit = options_.save_total_limit};
    if (options_.keep_best && state_.best) keep.best = state_.best->step;
    const std::string failed =
        directory_.save({task_.parameters(), *optimizer_, state_, settings_.version}, keep);
    if (!failed.empty()) notice(failed);
    saved_step_ = state_.step;
    tell(settings_.listener.saved, directory_.checkpoint(state_.step));
  }

  TrainingResult finish() {
    weights_are_good();
    const bool complete = ended_ == Ending::kFinished || ended_ == Ending::kStoppedEarly;
    if (complete) evaluate();
    if (ended_ != Ending::kDiverged) save();
    state_.seconds = seconds_before_ + since(started_);
    TrainingResult result = {.ending = *ended_,
                             .reason = reason_,
                             .step = state_.step,
                             .total_steps = state_.total_steps,
                             .resumed_step = resumed_step_,
                             .epoch = epoch(),
                             .loss = state_.last_loss,
                             .metrics = state_.metrics,
                             .best = state_.best,
                             .model_step = state_.step,
                             .examples = state_.examples,
                             .tokens = state_.tokens,
                             .skipped = state_.skipped,
                             .seconds = state_.seconds};
    log_->sync();
    if (!complete) return result;
    if (options_.load_best_model_at_end && load_best()) result.model_step = state_.best->step;
    directory_.write_model(
        [&](const std::filesystem::path& directory) { task_.save_model(directory); });
    result.model = directory_.path() / "model";
    return result;
  }

  bool load_best() {
    if (!state_.best) {
      notice("there was no evaluation, so there is no best model; the last one is written");
      return false;
    }
    const std::filesystem::path checkpoint = directory_.checkpoint(state_.best->step);
    try {
      verify_checkpoint(checkpoint);
      read_weights(checkpoint, task_.parameters());
      return true;
    } catch (const Error& error) {
      notice(std::string("the best model cannot be loaded, the last one is written: ") +
             error.what());
      return false;
    }
  }

  TrainingTask& task_;
  const TrainingOptions& options_;
  const TrainerSettings& settings_;
  ThreadPool& pool_;
  BatchOrder order_;
  RunDirectory directory_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<MetricsLog> log_;
  Schedule schedule_;
  TrainingState state_;

  std::optional<Ending> ended_;
  std::string reason_;
  int64_t resumed_step_ = 0, saved_step_ = -1;
  Clock::time_point started_;
  double seconds_before_ = 0;
  double step_seconds_ = 0;  // of the steps since the last log line, without evaluations and saves
  int64_t logged_tokens_ = 0;
  double previous_loss_ = std::nan("");
  int64_t equal_losses_ = 0;
  bool nothing_to_evaluate_ = false;
  bool no_labels_ = false, no_gradient_ = false, constant_ = false;  // warned of
};

}  // namespace

TrainingResult train(TrainingTask& task, const TrainerSettings& settings, ThreadPool& pool) {
  check_options(settings.options);
  check_trains_something(task.parameters());
  return Training(task, settings, pool).run();
}

}  // namespace longformer::train
