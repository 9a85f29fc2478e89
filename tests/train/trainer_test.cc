// The loop: what it learns, when it evaluates, saves and ends, what it refuses, and that going on
// is as if nothing had happened.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "support/expect_error.h"
#include "train/checkpoint.h"
#include "train/recorded_calls.h"
#include "train/schedule.h"
#include "train/trainer_fixture.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::weight_bytes;

TEST_F(Trainer, LearnsAndLeavesAModel) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.max_steps = 150;
  const double before = TinyTask().evaluate()["loss"];
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_EQ(result.step, 150);
  EXPECT_LT(result.metrics.at("loss"), before * 0.8);
  EXPECT_LT(result.loss, 0.6);
  EXPECT_EQ(result.model, run() / "model");
  EXPECT_TRUE(fs::exists(result.model / "model.txt"));
  EXPECT_EQ(logged_.size(), 30u);
  EXPECT_EQ(logged_.back().step, 150);
  EXPECT_LT(logged_.back().loss, logged_.front().loss / 2);
  EXPECT_GT(result.tokens, 0);
  EXPECT_NEAR(result.epoch, 150.0 / 9, 0.2);
  EXPECT_EQ(notices_, run().string() + " holds no checkpoint: training begins anew\n");
  for (const char* name : {"metrics.jsonl", "metrics.csv", "LATEST"}) {
    EXPECT_TRUE(fs::exists(run() / name)) << name;
  }
}

TEST_F(Trainer, EpochsSayHowManySteps) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.max_steps = -1;
  options.num_train_epochs = 2;
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.total_steps, 2 * 9);  // 17 batches of 3, in groups of 2
  EXPECT_EQ(result.examples, 2 * TinyTask::kExamples);
  EXPECT_EQ(evaluated_.size(), 2u);  // after each epoch
  EXPECT_EQ(evaluated_[0].step, 9);
  EXPECT_DOUBLE_EQ(evaluated_[1].epoch, 2.0);
}

// Each label counts the same, in whichever batch it stands.
TEST_F(Trainer, AccumulatedBatchesAreOneLargeBatch) {
  TinyTask one, many;
  TrainingOptions options = tiny_options();
  options.max_steps = 10;
  options.per_device_train_batch_size = 12;
  options.gradient_accumulation_steps = 1;
  train_tiny(one, options, "one");
  options.per_device_train_batch_size = 1;
  options.gradient_accumulation_steps = 12;
  train_tiny(many, options, "many");
  for (size_t p = 0; p < one.parameters().all().size(); ++p) {
    const Parameter& a = one.parameters().all()[p];
    const Parameter& b = many.parameters().all()[p];
    for (int64_t i = 0; i < a.elements; ++i) EXPECT_NEAR(a.value[i], b.value[i], 2e-4);
  }
  ASSERT_EQ(logged_.size(), 4u);
  EXPECT_NEAR(logged_[0].loss, logged_[2].loss, 1e-4);
}

TEST_F(Trainer, WeightsDoNotDependOnThreads) {
  std::string expected;
  for (const int threads : {1, 2, 3}) {
    TinyTask task;
    ThreadPool pool(threads);
    train(task, settings(tiny_options(), std::to_string(threads)), pool);
    if (expected.empty()) expected = weight_bytes(task.parameters());
    EXPECT_EQ(weight_bytes(task.parameters()), expected) << threads;
  }
  EXPECT_NE(expected, weight_bytes(TinyTask().parameters()));
}

TEST_F(Trainer, LogsTheMeanAndTheScheduleOfEachStep) {
  TinyTask a, b;
  TrainingOptions options = tiny_options();
  options.logging_steps = 1;
  train_tiny(a, options, "each");
  const std::vector<LogRecord> each = logged_;
  logged_.clear();
  options.logging_steps = 5;
  train_tiny(b, options, "five");
  ASSERT_EQ(each.size(), 40u);
  ASSERT_EQ(logged_.size(), 8u);
  const Schedule schedule = {ScheduleKind::kLinear, 0.02, 4, 40};
  for (size_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (size_t j = 0; j < 5; ++j) sum += each[5 * i + j].loss;
    EXPECT_DOUBLE_EQ(logged_[i].loss, sum / 5);
    EXPECT_DOUBLE_EQ(logged_[i].learning_rate, schedule.at(static_cast<int64_t>(5 * i + 4)));
  }
}

// A stop at any batch, a checkpoint, and the rest in another process: the same bits.
struct ResumeCase {
  const char* name;
  const char* optim;
  bool grouped;
  int64_t tokens;
};
class Resume : public Trainer, public testing::WithParamInterface<ResumeCase> {};

TEST_P(Resume, GoesOnAsIfNothingHadHappened) {
  TrainingOptions options = tiny_options();
  options.optim = GetParam().optim;
  options.group_by_length = GetParam().grouped;
  options.tokens_per_batch = GetParam().tokens;
  options.outlier_zscore = 5;
  options.sgd_momentum = 0.5;
  TinyTask whole;
  train_tiny(whole, options, "whole");
  const std::string log = io::read_file(run("whole") / "metrics.jsonl", 1 << 20);
  for (const int64_t stop_at : {0, 1, 2, 13, 28, 29, 41}) {
    const std::string name = "stopped" + std::to_string(stop_at);
    std::string bytes;
    int64_t stopped = 0;
    for (int64_t part = 0; part < 2; ++part) {
      TinyTask task;
      TrainerSettings now = settings(options, name);
      int64_t asked = 0;
      if (part == 0) now.stop = [&] { return asked++ == stop_at; };
      const TrainingResult result = train(task, now, pool_);
      EXPECT_EQ(result.ending, part == 0 ? Ending::kInterrupted : Ending::kFinished);
      EXPECT_EQ(result.model.empty(), part == 0);
      EXPECT_EQ(result.resumed_step, stopped);
      stopped = result.step;
      bytes = weight_bytes(task.parameters());
    }
    EXPECT_EQ(bytes, weight_bytes(whole.parameters())) << stop_at;
    // The log has each step once; losses are equal to the last digit.
    const std::string other = io::read_file(run(name) / "metrics.jsonl", 1 << 20);
    EXPECT_EQ(std::count(other.begin(), other.end(), '\n'),
              std::count(log.begin(), log.end(), '\n'));
    for (size_t at = log.find("\"loss\":"); at != std::string::npos;
         at = log.find("\"loss\":", at + 1)) {
      EXPECT_NE(other.find(log.substr(at, log.find(',', at) - at)), std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Resume,
                         testing::Values(ResumeCase{"AdamW", "adamw_torch", false, 0},
                                         ResumeCase{"Adafactor", "adafactor", true, 0},
                                         ResumeCase{"Sgd", "sgd", true, 45}),
                         [](const auto& item) { return std::string(item.param.name); });

// Whatever an evaluation or a checkpoint costs.
TEST_F(Trainer, TokensASecondAreThoseOfTheSteps) {
  static constexpr auto kPause = std::chrono::milliseconds(60);
  class SlowDisk final : public SystemCalls {
   public:
    int rename(const char* from, const char* to) override {
      std::this_thread::sleep_for(kPause);
      return SystemCalls::rename(from, to);
    }
  };
  TinyTask task;
  task.metrics = [](int64_t) {
    std::this_thread::sleep_for(kPause);
    return std::map<std::string, double>{{"loss", 1}};
  };
  TrainingOptions options = tiny_options();
  options.max_steps = 9;
  options.logging_steps = 1;
  options.eval_steps = 2;
  options.save_steps = 3;
  options.keep_best = false;
  SlowDisk disk;
  TrainerSettings slow = settings(options);
  slow.calls = &disk;
  train(task, slow, pool_);
  ASSERT_EQ(logged_.size(), 9u);
  const double pause = std::chrono::duration<double>(kPause).count();
  for (size_t i = 1; i < logged_.size(); ++i) {
    const LogRecord &before = logged_[i - 1], &now = logged_[i];
    const double step = static_cast<double>(now.tokens - before.tokens) / now.tokens_per_second;
    const int64_t pauses = (before.step % 2 == 0 ? 1 : 0) + (before.step % 3 == 0 ? 1 : 0);
    EXPECT_GE(now.seconds - before.seconds, static_cast<double>(pauses) * pause) << now.step;
    EXPECT_LE(step, now.seconds - before.seconds - static_cast<double>(pauses) * pause + 1e-9)
        << now.step;
  }
}

TEST_F(Trainer, AFinishedRunIsNotTrainedAgain) {
  TinyTask first, second;
  train_tiny(first, tiny_options());
  fs::remove_all(run() / "model");
  const TrainingResult result = train_tiny(second, tiny_options());
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_EQ(result.resumed_step, 40);
  EXPECT_TRUE(second.seen.empty());
  EXPECT_EQ(second.evaluations, 0);
  EXPECT_EQ(weight_bytes(second.parameters()), weight_bytes(first.parameters()));
  EXPECT_GT(result.metrics.at("loss"), 0);
  EXPECT_TRUE(fs::exists(run() / "model" / "model.txt"));
}

TEST_F(Trainer, ADamagedCheckpointCostsStepsOnly) {
  TinyTask whole;
  train_tiny(whole, tiny_options(), "whole");
  TinyTask first, second;
  TrainerSettings interrupted = settings(tiny_options());
  interrupted.listener.stepped = [&](int64_t step, int64_t) { first.sleep_microseconds = step; };
  interrupted.stop = [&] { return first.sleep_microseconds == 18; };
  train(first, interrupted, pool_);
  const fs::path damaged = run() / "step-18" / kWeightsFile;
  std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary).seekp(300).put('x');
  const TrainingResult result = train_tiny(second, tiny_options());
  EXPECT_EQ(result.resumed_step, 14);
  EXPECT_TRUE(noticed("step-18")) << notices_;
  EXPECT_EQ(weight_bytes(second.parameters()), weight_bytes(whole.parameters()));
}

TEST_F(Trainer, RefusesToGoOnOtherwise) {
  TinyTask task;
  TrainerSettings first = settings(tiny_options());
  first.stop = [&] { return task.seen.size() == 6; };
  train(task, first, pool_);
  const auto expect_refused = [&](const std::vector<std::string>& parts,
                                  const std::function<void(TrainingOptions&, TinyTask&)>& change) {
    TinyTask other;
    TrainingOptions options = tiny_options();
    change(options, other);
    expect_error(ErrorCode::kInvalidArgument, parts, [&] { train_tiny(other, options); });
    EXPECT_TRUE(other.seen.empty());
  };
  expect_refused({run().string(), "learning_rate is 0.5, and was 0.02", "seed is 7, and was 42"},
                 [](TrainingOptions& options, TinyTask&) {
                   options.learning_rate = 0.5;
                   options.seed = 7;
                 });
  expect_refused({"there was \"data tiny\"", "there is now \"data other\""},
                 [](TrainingOptions&, TinyTask& other) { other.facts = "data other\nclasses 3"; });
  expect_refused({"another order"},
                 [](TrainingOptions&, TinyTask& other) { other.facts = "classes 3\ndata tiny"; });
  expect_refused({"there are 30 steps in all, and 40 before"},
                 [](TrainingOptions& options, TinyTask&) { options.max_steps = 30; });
  TinyTask other;
  TrainingOptions longer = tiny_options();
  longer.max_steps = 50;
  longer.logging_steps = 1;
  longer.save_steps = 0;
  const TrainingResult result = train_tiny(other, longer);
  EXPECT_EQ(result.resumed_step, 3);
  EXPECT_EQ(result.step, 50);
  EXPECT_TRUE(noticed("50 steps in all instead of 40")) << notices_;
}

TEST_F(Trainer, NewRunsNeedANewDirectory) {
  TinyTask task;
  TrainerSettings now = settings(tiny_options());
  now.start = RunStart::kNew;
  train(task, now, pool_);
  expect_error(ErrorCode::kInvalidArgument, {"holds a training already"},
               [&] { train(task, now, pool_); });
}

TEST_F(Trainer, StopsEarlyAndTakesTheBest) {
  TinyTask task;
  const std::vector<double> losses = {3, 2, 2.5, 2.1, 1.0};
  task.metrics = [&](int64_t call) {
    return std::map<std::string, double>{{"loss", losses.at(static_cast<size_t>(call - 1))},
                                         {"f1", 0.5}};
  };
  TrainingOptions options = tiny_options();
  options.eval_steps = 4;
  options.save_steps = 5;
  options.save_total_limit = 1;
  options.early_stopping_patience = 2;
  options.load_best_model_at_end = true;
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.ending, Ending::kStoppedEarly);
  EXPECT_NE(result.reason.find("2 evaluations"), std::string::npos) << result.reason;
  EXPECT_EQ(result.step, 16);
  EXPECT_EQ(result.best->step, 8);
  EXPECT_EQ(result.best->metric, 2);
  EXPECT_EQ(result.model_step, 8);
  EXPECT_EQ(steps_in(run()), (std::vector<int64_t>{8, 16}));
  TinyTask best;
  read_weights(run() / "step-8", best.parameters());
  EXPECT_EQ(weight_bytes(task.parameters()), weight_bytes(best.parameters()));
  ASSERT_EQ(evaluated_.size(), 4u);
  EXPECT_EQ(evaluated_[1].best, BestSoFar::kYes);
  EXPECT_EQ(evaluated_[3].best, BestSoFar::kNo);
  EXPECT_TRUE(noticed("eval_f1")) << notices_;
  // Going on ends at once, with the same.
  TinyTask again;
  again.metrics = task.metrics;
  EXPECT_EQ(train_tiny(again, options).ending, Ending::kStoppedEarly);
  EXPECT_EQ(again.evaluations, 0);
}

TEST_F(Trainer, WhatCountsAsBetter) {
  const auto result_of = [&](const std::string& metric, double threshold) {
    TinyTask task;
    const std::vector<double> values = {0.5, 0.55, 0.6, 0.61, 0.9, NAN, 0.2, 0.1, 0.1, 0.1};
    task.metrics = [&](int64_t call) {
      return std::map<std::string, double>{{metric, values.at(static_cast<size_t>(call - 1))}};
    };
    TrainingOptions options = tiny_options();
    options.eval_steps = 4;
    options.metric_for_best_model = "eval_" + metric;
    options.early_stopping_patience = 3;
    options.early_stopping_threshold = threshold;
    return train_tiny(task, options, metric + std::to_string(threshold));
  };
  EXPECT_EQ(result_of("f1", 0).best->step, 20);
  EXPECT_EQ(result_of("f1", 0).step, 32);
  EXPECT_EQ(result_of("f1", 0.1).step, 16);  // gains of 0.05, 0.05 and 0.01 are none
  EXPECT_EQ(result_of("f1", 0.1).best->step, 16);
  EXPECT_EQ(result_of("loss", 0).best->step, 4);
  EXPECT_EQ(result_of("loss", 0).step, 16);
}

TEST_F(Trainer, AMetricThatIsNotThereIsNamed) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.metric_for_best_model = "f1";
  expect_error(ErrorCode::kInvalidArgument, {"metric_for_best_model", "\"f1\"", "gives loss"},
               [&] { train_tiny(task, options); });
}

TEST_F(Trainer, WithoutAnEvaluationSet) {
  TinyTask task;
  task.metrics = [](int64_t) { return std::map<std::string, double>{}; };
  TrainingOptions options = tiny_options();
  options.load_best_model_at_end = true;
  options.early_stopping_patience = 1;
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_EQ(result.model_step, 40);
  EXPECT_FALSE(result.best);
  EXPECT_EQ(task.evaluations, 1);
  EXPECT_TRUE(noticed("no evaluation set")) << notices_;
  EXPECT_TRUE(noticed("no best model")) << notices_;
}

TEST_F(Trainer, KeepsAsManyCheckpointsAsItIsTold) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.save_total_limit = 2;
  options.keep_best = false;
  train_tiny(task, options);
  EXPECT_EQ(steps_in(run()), (std::vector<int64_t>{35, 40}));
  options.save_steps = 0;
  TinyTask other;
  train_tiny(other, options, "end");
  EXPECT_EQ(steps_in(run("end")), (std::vector<int64_t>{40}));
}

TEST_F(Trainer, EvaluatesBeforeTheFirstStepWhenAsked) {
  TrainingOptions options = tiny_options();
  options.eval_on_start = true;
  options.max_steps = 3;
  TinyTask task;
  std::vector<int64_t> steps;
  task.metrics = [&](int64_t) {
    steps.push_back(static_cast<int64_t>(task.seen.size()));
    return std::map<std::string, double>{{"loss", 1.0}};
  };
  train_tiny(task, options, "start");
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front(), 0);
  const std::string log = io::read_file(run("start") / "metrics.jsonl", 1 << 20);
  EXPECT_EQ(log.find("{\"step\":0,"), 0u) << log;
}

TEST_F(Trainer, AnErrorCostsNoStep) {
  TinyTask task, again, whole;
  TrainingOptions options = tiny_options();
  options.save_steps = 0;
  task.poison = [](int64_t step) -> double {
    if (step == 9) throw Error(ErrorCode::kIo, "changed while it was read", "data.jsonl");
    return 0;
  };
  expect_error(ErrorCode::kIo, {"data.jsonl"}, [&] { train_tiny(task, options); });
  EXPECT_EQ(steps_in(run()).back(), 9);
  train_tiny(again, options);
  train_tiny(whole, options, "whole");
  for (size_t p = 0; p < whole.parameters().all().size(); ++p) {
    const Parameter &one = again.parameters().all()[p], &other = whole.parameters().all()[p];
    EXPECT_EQ(std::vector(one.value, one.value + one.elements),
              std::vector(other.value, other.value + other.elements));
  }
}

TEST_F(Trainer, WarnsWhereNothingIsLearnt) {
  TinyTask task;
  task.noise = 0;
  for (Parameter& parameter : task.parameters().all())
    task.parameters().freeze(parameter.spec.name);
  task.parameters().train("frozen.weight");  // has no effect on the loss
  TrainingOptions options = tiny_options();
  options.per_device_train_batch_size = TinyTask::kExamples;
  train_tiny(task, options);
  EXPECT_TRUE(noticed("gradient is zero")) << notices_;
  EXPECT_TRUE(noticed("outputs are constant")) << notices_;
}

TEST_F(Trainer, NothingToTrainIsRefused) {
  TinyTask task;
  for (Parameter& parameter : task.parameters().all())
    task.parameters().freeze(parameter.spec.name);
  expect_error(ErrorCode::kInvalidArgument, {"every parameter is frozen"},
               [&] { train_tiny(task, tiny_options()); });
}

TEST_F(Trainer, BatchesWithoutLabelsAreStepsWithoutEffect) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.per_device_train_batch_size = 1;
  options.gradient_accumulation_steps = 1;
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_GT(result.skipped, 3);
  EXPECT_TRUE(noticed("no label")) << notices_;
  EXPECT_EQ(notices_.find("no label"), notices_.rfind("no label"));
}

TEST_F(Trainer, AFullDiskStopsWithAMessageAndNothingIsLost) {
  TinyTask whole;
  train_tiny(whole, tiny_options(), "whole");
  TinyTask first, second;
  test::RecordedCalls calls;
  calls.fault = [](const test::Call& call, size_t) {
    return call.kind == test::Call::kWrite && call.path.find("step-21.tmp") != std::string::npos
               ? ENOSPC
               : 0;
  };
  TrainerSettings now = settings(tiny_options());
  now.calls = &calls;
  expect_error(ErrorCode::kIo, {run().string(), "No space left"},
               [&] { train(first, now, pool_); });
  const TrainingResult result = train_tiny(second, tiny_options());
  EXPECT_EQ(result.resumed_step, 18);  // the best
  EXPECT_EQ(weight_bytes(second.parameters()), weight_bytes(whole.parameters()));
}

}  // namespace
}  // namespace longformer::train
