// Losses, gradients and weights that are NaN, infinite or far off.
#include <cmath>
#include <set>

#include "train/checkpoint.h"
#include "train/gradients.h"
#include "train/trainer_fixture.h"

namespace longformer::train {
namespace {

class BadNumbers : public Trainer {
 protected:
  TrainingResult with(const std::string& policy, const std::set<int64_t>& bad, TinyTask& task) {
    task.poison = [bad](int64_t step) { return bad.count(step) > 0 ? NAN : 0.0; };
    TrainingOptions options = tiny_options();
    options.nan_policy = policy;
    return train_tiny(task, options, policy + std::to_string(bad.size()));
  }
};

TEST_F(BadNumbers, StopAtTheFirst) {
  TinyTask task;
  const TrainingResult result = with("stop", {9}, task);
  EXPECT_EQ(result.ending, Ending::kDiverged);
  EXPECT_EQ(result.step, 9);
  EXPECT_NE(result.reason.find("step 10 has a loss"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("out.bias at 1"), std::string::npos) << result.reason;
  EXPECT_TRUE(result.model.empty());
  EXPECT_EQ(steps_in(run("stop1")), (std::vector<int64_t>{7, 9}));  // 9: the best after the epoch
}

TEST_F(BadNumbers, AreLookedForWhereTheTaskSays) {
  TinyTask task;
  task.anomaly = "the output of layer 3: token 1 of sequence 0, element 2 is NaN";
  task.poison = [](int64_t step) { return step == 9 ? NAN : 0.0; };
  TrainingOptions options = tiny_options();
  options.nan_policy = "stop";
  options.detect_anomaly = true;
  TrainingResult result = train_tiny(task, options, "asked");
  EXPECT_NE(result.reason.find("(first: " + task.anomaly + ")"), std::string::npos)
      << result.reason;
  EXPECT_EQ(task.asked, (std::vector<int64_t>{9}));
  options.detect_anomaly = false;
  TinyTask other;
  other.poison = task.poison;
  other.anomaly = task.anomaly;
  result = train_tiny(other, options, "not_asked");
  EXPECT_EQ(result.reason.find(task.anomaly), std::string::npos) << result.reason;
  EXPECT_TRUE(other.asked.empty());
}

TEST_F(BadNumbers, SkipTwoAndStopAtThree) {
  TinyTask task;
  TrainingResult result = with("skip", {9, 10, 12, 13}, task);
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_EQ(result.skipped, 4);
  for (const Parameter& parameter : task.parameters().all()) {
    for (int64_t i = 0; i < parameter.elements; ++i) ASSERT_TRUE(std::isfinite(parameter.value[i]));
  }
  EXPECT_TRUE(noticed("step 10 has a loss")) << notices_;
  TinyTask other;
  result = with("skip", {9, 10, 11}, other);
  EXPECT_EQ(result.ending, Ending::kDiverged);
  EXPECT_EQ(result.step, 11);
  EXPECT_NE(result.reason.find("third in a row"), std::string::npos) << result.reason;
}

TEST_F(BadNumbers, WarnNeverStops) {
  TinyTask task;
  const TrainingResult result = with("warn", {9, 10, 11, 12, 13}, task);
  EXPECT_EQ(result.ending, Ending::kFinished);
  EXPECT_EQ(result.skipped, 5);
  EXPECT_LT(result.loss, 10);
}

TEST_F(BadNumbers, NeverStandInACheckpoint) {
  TinyTask task;
  TrainingOptions options = tiny_options();
  options.save_steps = 1;
  options.save_total_limit = 1;
  options.max_steps = 3;
  train_tiny(task, options);
  options.max_steps = 6;
  options.nan_policy = "warn";
  TinyTask other;
  int64_t steps = 0;
  other.poison = [&](int64_t) {
    if (++steps == 2) other.parameters().all()[0].value[1] = NAN;
    return 0.0;
  };
  const TrainingResult result = train_tiny(other, options);
  EXPECT_EQ(result.ending, Ending::kDiverged);
  EXPECT_NE(result.reason.find("a weight is NaN or infinite after step"), std::string::npos)
      << result.reason;
  EXPECT_NE(result.reason.find(" at 1"), std::string::npos) << result.reason;
  EXPECT_TRUE(result.model.empty());
  ASSERT_FALSE(steps_in(run()).empty());
  TinyTask saved;
  read_weights(run() / ("step-" + std::to_string(steps_in(run()).back())), saved.parameters());
  EXPECT_EQ(first_value_not_finite(saved.parameters()), "");
}

// A skipped step changes neither weights nor the optimizer's memory.
TEST_F(BadNumbers, OutliersAreLeftOut) {
  TrainingOptions options = tiny_options();
  options.max_steps = 140;
  options.learning_rate = 1e-4;
  options.outlier_zscore = 6;
  TinyTask task;
  task.poison = [](int64_t step) { return step == 100 || step == 135 ? 1e3 : 0.0; };
  const TrainingResult result = train_tiny(task, options);
  EXPECT_EQ(result.skipped, 1);  // the first came before there was a window
  EXPECT_TRUE(noticed("step 136 is left out: its loss")) << notices_;
  EXPECT_EQ(read_state(run() / "step-140").optimizer_steps, 139);
}

}  // namespace
}  // namespace longformer::train
