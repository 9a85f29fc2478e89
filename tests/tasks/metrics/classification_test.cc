// Cases worked out by hand; tests/oracle/metrics_oracle.py compares with scikit-learn and SciPy.
#include "tasks/metrics/classification.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"

namespace longformer::tasks {
namespace {

using Labels = std::vector<int64_t>;

TEST(Classification, CountsByHand) {
  // Class 0: gold 3, predicted 2, right 2. Class 1: gold 2, predicted 3, right 1. Class 2: gold 1,
  // never predicted. Class 3: predicted once, never gold.
  const Labels gold = {0, 0, 0, 1, 1, 2};
  const Labels predicted = {0, 0, 1, 1, 3, 1};
  const ClassReport report = class_report(gold, predicted, 4);
  EXPECT_DOUBLE_EQ(report.accuracy, 3.0 / 6);
  ASSERT_EQ(report.classes.size(), 4u);
  EXPECT_DOUBLE_EQ(report.classes[0].precision, 1);
  EXPECT_DOUBLE_EQ(report.classes[0].recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.classes[0].f1, 0.8);
  EXPECT_DOUBLE_EQ(report.classes[1].precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.classes[1].f1, 0.4);
  EXPECT_EQ(report.classes[2].f1, 0);
  EXPECT_EQ(report.classes[2].support, 1);
  EXPECT_EQ(report.classes[3].precision, 0);
  EXPECT_EQ(report.classes[3].support, 0);
  EXPECT_DOUBLE_EQ(report.averages.macro.f1, (0.8 + 0.4) / 4);
  EXPECT_DOUBLE_EQ(report.averages.weighted.f1, (3 * 0.8 + 2 * 0.4) / 6);
  EXPECT_DOUBLE_EQ(report.averages.micro.f1, 0.5);
  // (3 * 6 - (2*3 + 3*2 + 0*1 + 1*0)) / sqrt((36 - 14) * (36 - 14))
  EXPECT_DOUBLE_EQ(report.matthews, 6.0 / 22);
}

TEST(Classification, MatthewsOfTwoClasses) {
  // tp 2, tn 1, fp 1, fn 1: (2*1 - 1*1) / sqrt(3 * 3 * 2 * 2)
  const ClassReport report = class_report(Labels{1, 1, 1, 0, 0}, Labels{1, 1, 0, 0, 1}, 2);
  EXPECT_DOUBLE_EQ(report.matthews, 1.0 / 6);
  EXPECT_EQ(class_report(Labels{1, 0}, Labels{1, 1}, 2).matthews, 0);
}

TEST(Classification, RefusesWhatDoesNotFit) {
  test::expect_error(ErrorCode::kInvalidArgument, {"2 predictions for 1 gold"}, [&] {
    class_report(Labels{0}, Labels{0, 1}, 2);
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"nothing"},
                     [&] { class_report(Labels{}, Labels{}, 2); });
  test::expect_error(ErrorCode::kInvalidArgument, {"label 2"},
                     [&] { class_report(Labels{0}, Labels{2}, 2); });
  test::expect_error(ErrorCode::kInvalidArgument, {"label -1"},
                     [&] { class_report(Labels{-1}, Labels{0}, 2); });
}

TEST(MultiLabel, CountsByHand) {
  const MultiLabelReport report =
      multi_label_report({{0, 1}, {2}, {}, {0}}, {{0}, {2}, {}, {1, 2}}, 3);
  EXPECT_DOUBLE_EQ(report.subset_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(report.hamming_loss, 4.0 / 12);
  // right 2, predicted 4, gold 4
  EXPECT_DOUBLE_EQ(report.averages.micro.f1, 0.5);
  // 0: 2*1/(1+2), 1: 0, 2: 2*1/(2+1)
  EXPECT_DOUBLE_EQ(report.averages.macro.f1, (2.0 / 3 + 0 + 2.0 / 3) / 3);
  // items: 2/3, 1, 0 (nothing on both sides), 0
  EXPECT_DOUBLE_EQ(report.samples.f1, (2.0 / 3 + 1) / 4);
  EXPECT_DOUBLE_EQ(report.samples.recall, (0.5 + 1) / 4);
  EXPECT_EQ(report.samples.support, 4);
}

TEST(Regression, ByHand) {
  const std::vector<double> gold = {1, 2, 3, 4};
  const std::vector<double> predicted = {2, 2, 2, 6};
  const RegressionReport report = regression_report(gold, predicted);
  EXPECT_DOUBLE_EQ(report.mse, (1 + 0 + 1 + 4) / 4.0);
  EXPECT_DOUBLE_EQ(report.mae, 1);
  // deviations -1.5 -0.5 0.5 1.5 and -1 -1 -1 3: 6 / sqrt(5 * 12)
  EXPECT_DOUBLE_EQ(report.pearson.value(), 6 / std::sqrt(60));
  // ranks 1 2 3 4 and 2 2 2 4: deviations -0.5 -0.5 -0.5 1.5: 3 / sqrt(5 * 3)
  EXPECT_DOUBLE_EQ(report.spearman.value(), 3 / std::sqrt(15));
  const RegressionReport constant = regression_report(gold, std::vector<double>(4, 1.0));
  EXPECT_FALSE(constant.pearson.has_value());
  EXPECT_FALSE(constant.spearman.has_value());
  EXPECT_FALSE(regression_report(std::vector<double>{1}, std::vector<double>{2}).pearson);
}

// Numbers whose squares are beyond doubles, large or small.
TEST(Regression, PearsonOfHugeAndTinyNumbers) {
  const auto pearson = [](const std::vector<double>& x, const std::vector<double>& y) {
    return regression_report(x, y).pearson.value();
  };
  // Deviations 1 -1 0 and -1 1 0 times 1e150, but for 5 that is lost beside them.
  EXPECT_DOUBLE_EQ(pearson({1e150, -1e150, 0}, {-1e150, 1e150, 5}), -1);
  // 1 2 4 and 1 2 3: deviations -4/3 -1/3 5/3 and -1 0 1: 3 / sqrt(14/3 * 2)
  const double expected = 3 / std::sqrt(28.0 / 3);
  EXPECT_DOUBLE_EQ(pearson({1e-200, 2e-200, 4e-200}, {1, 2, 3}), expected);
  EXPECT_DOUBLE_EQ(pearson({1e150, 2e150, 4e150}, {1e-320, 2e-320, 3e-320}), expected);
  EXPECT_DOUBLE_EQ(pearson({1, 2, 4}, {1, 2, 3}), expected);
}

TEST(Regression, RefusesErrorsWhoseSquaresOverflow) {
  const std::vector<double> gold = {1e200, -1e200, 0}, predicted = {-1e200, 1e200, 5};
  test::expect_error(ErrorCode::kInvalidArgument, {"squares", "64-bit floating point"},
                     [&] { regression_report(gold, predicted); });
  const std::vector<double> far = {1e308}, opposite = {-1e308};
  test::expect_error(ErrorCode::kInvalidArgument, {"squares"},
                     [&] { regression_report(far, opposite); });
}

}  // namespace
}  // namespace longformer::tasks
