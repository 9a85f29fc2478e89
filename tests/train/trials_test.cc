// The two trials: their answers, and that they leave no trace.
#include "train/trials.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "train/tiny_task.h"

namespace longformer::train {
namespace {

using test::TinyTask;
using test::weight_bytes;

TrainingOptions options_of(double learning_rate) {
  TrainingOptions options;
  options.learning_rate = learning_rate;
  options.per_device_train_batch_size = 4;
  options.overfit_one_batch = 200;
  options.find_learning_rate = 200;
  return options;
}

TEST(Trials, OneBatchIsLearntByHeart) {
  TinyTask task;
  ThreadPool pool(2);
  const std::string before = weight_bytes(task.parameters());
  const OverfitResult result = overfit_one_batch(task, options_of(0.05), {}, pool);
  EXPECT_EQ(result.verdict, OverfitResult::Verdict::kLearnt);
  EXPECT_LT(result.last_loss, 0.1 * result.first_loss);
  EXPECT_GT(result.steps, 1);
  EXPECT_LT(result.steps, 200);
  EXPECT_EQ(weight_bytes(task.parameters()), before);
  for (const std::vector<int64_t>& seen : task.seen) EXPECT_EQ(seen, task.seen[0]);
}

TEST(Trials, ATinyLearningRateFails) {
  TinyTask task;
  ThreadPool pool(2);
  const OverfitResult result = overfit_one_batch(task, options_of(1e-7), {}, pool);
  EXPECT_EQ(result.verdict, OverfitResult::Verdict::kNotLearnt);
  EXPECT_EQ(result.steps, 200);
  EXPECT_NEAR(result.last_loss, result.first_loss, 1e-3);
}

TEST(Trials, NanFailsAndAStopStops) {
  TinyTask task;
  ThreadPool pool(1);
  task.poison = [](int64_t) { return NAN; };
  OverfitResult result = overfit_one_batch(task, options_of(0.05), {}, pool);
  EXPECT_EQ(result.verdict, OverfitResult::Verdict::kNotLearnt);
  EXPECT_EQ(result.steps, 0);
  task.poison = nullptr;
  result = overfit_one_batch(
      task, options_of(0.05), [] { return true; }, pool);
  EXPECT_EQ(result.verdict, OverfitResult::Verdict::kStopped);
}

TEST(Trials, TheSuggestedLearningRateLearns) {
  TinyTask task;
  ThreadPool pool(2);
  const std::string before = weight_bytes(task.parameters());
  const LearningRateSearch search = find_learning_rate(task, options_of(1), {}, pool);
  EXPECT_EQ(weight_bytes(task.parameters()), before);
  ASSERT_GT(search.points.size(), 100u);
  EXPECT_NEAR(search.points[0].learning_rate, 1e-7, 1e-12);
  for (size_t i = 1; i < search.points.size(); ++i) {
    EXPECT_GT(search.points[i].learning_rate, search.points[i - 1].learning_rate);
  }
  EXPECT_GT(search.suggested, 1e-4);
  EXPECT_LT(search.suggested, 0.5);
  const OverfitResult result = overfit_one_batch(task, options_of(search.suggested), {}, pool);
  EXPECT_EQ(result.verdict, OverfitResult::Verdict::kLearnt) << search.suggested;
}

TEST(Trials, NoLabelsAtAll) {
  class NoLabels final : public TrainingTask {
   public:
    ParameterSet& parameters() override { return inner_.parameters(); }
    int64_t examples() const override { return 3; }
    int64_t tokens(int64_t) const override { return 1; }
    int64_t labels(std::span<const int64_t>, const StepKey&) override { return 0; }
    BatchLoss accumulate(std::span<const int64_t>, const StepKey&, double) override { return {}; }
    std::map<std::string, double> evaluate() override { return {}; }
    void save_model(const std::filesystem::path&) override {}
    std::string identity() const override { return ""; }

   private:
    TinyTask inner_;
  } task;
  ThreadPool pool(1);
  test::expect_error(ErrorCode::kInvalidArgument, {"no label at all"},
                     [&] { overfit_one_batch(task, options_of(0.1), {}, pool); });
  const LearningRateSearch search = find_learning_rate(task, options_of(0.1), {}, pool);
  EXPECT_TRUE(search.points.empty());
  EXPECT_EQ(search.suggested, 0);
}

}  // namespace
}  // namespace longformer::train
