#include "tasks/metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "longformer/error.h"

namespace longformer::tasks {
namespace {

double ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

void check_lengths(size_t gold, size_t predicted) {
  if (gold != predicted) {
    throw Error(ErrorCode::kInvalidArgument, std::to_string(predicted) + " predictions for " +
                                                 std::to_string(gold) +
                                                 " gold items: each needs one");
  }
  if (gold == 0) throw Error(ErrorCode::kInvalidArgument, "there is nothing to evaluate");
}

size_t checked_label(int64_t label, int64_t classes) {
  if (label < 0 || label >= classes) {
    throw Error(ErrorCode::kInvalidArgument, "label " + std::to_string(label) + " is not in 0 to " +
                                                 std::to_string(classes - 1));
  }
  return static_cast<size_t>(label);
}

void add(const Scores& one, double weight, Scores& sum) {
  sum.precision += weight * one.precision;
  sum.recall += weight * one.recall;
  sum.f1 += weight * one.f1;
}

void divide(double by, Scores& sum) {
  sum.precision = ratio(sum.precision, by);
  sum.recall = ratio(sum.recall, by);
  sum.f1 = ratio(sum.f1, by);
}

std::vector<Scores> scores_of(std::span<const Counts> classes) {
  std::vector<Scores> result;
  result.reserve(classes.size());
  for (const Counts& counts : classes) result.push_back(scores(counts));
  return result;
}

double matthews(std::span<const Counts> classes, double total) {
  double right = 0, both = 0, predicted = 0, gold = 0;
  for (const Counts& counts : classes) {
    right += static_cast<double>(counts.right);
    both += static_cast<double>(counts.predicted) * static_cast<double>(counts.gold);
    predicted += std::pow(static_cast<double>(counts.predicted), 2);
    gold += std::pow(static_cast<double>(counts.gold), 2);
  }
  const double spread = (total * total - gold) * (total * total - predicted);
  return spread == 0 ? 0 : (right * total - both) / std::sqrt(spread);
}

// What is left of the mean, as parts of the largest, so that its squares neither overflow nor
// vanish; empty where all values are one, or differ by less than the mean is exact.
std::vector<double> deviations(std::span<const double> values) {
  const bool constant =
      std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
  if (constant) return {};
  const auto largest = [](std::span<const double> numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0, [](double sum, double number) {
      return std::max(sum, std::abs(number));
    });
  };
  // Powers of two: numbers of the usual sizes keep all their bits.
  const auto scale = [&](std::vector<double>& numbers) {
    const int exponent = std::ilogb(largest(numbers)) + 1;
    for (double& number : numbers) number = std::ldexp(number, -exponent);
  };
  std::vector<double> result(values.begin(), values.end());
  scale(result);
  const double mean =
      std::accumulate(result.begin(), result.end(), 0.0) / static_cast<double>(result.size());
  for (double& value : result) value -= mean;
  if (largest(result) == 0) return {};
  scale(result);
  return result;
}

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 2) return std::nullopt;
  std::vector<double> dx = deviations(x), dy = deviations(y);
  if (dx.empty() || dy.empty()) return std::nullopt;
  const double x_norm = std::sqrt(dot(dx, dx)), y_norm = std::sqrt(dot(dy, dy));
  for (double& value : dx) value /= x_norm;
  for (double& value : dy) value /= y_norm;
  return std::clamp(dot(dx, dy), -1.0, 1.0);
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;  // mean of begin + 1 … end
    for (size_t i = begin; i < end; ++i) result[order[i]] = rank;
    begin = end;
  }
  return result;
}

}  // namespace

Scores scores(const Counts& counts) {
  const auto right = static_cast<double>(counts.right);
  const auto predicted = static_cast<double>(counts.predicted);
  const auto gold = static_cast<double>(counts.gold);
  return {ratio(right, predicted), ratio(right, gold), ratio(2 * right, predicted + gold),
          counts.gold};
}

Averages averages(std::span<const Counts> classes) {
  Averages result;
  Counts sum;
  for (const Counts& counts : classes) {
    sum.right += counts.right;
    sum.predicted += counts.predicted;
    sum.gold += counts.gold;
    const Scores one = scores(counts);
    add(one, 1, result.macro);
    add(one, static_cast<double>(counts.gold), result.weighted);
  }
  result.micro = scores(sum);
  divide(static_cast<double>(classes.size()), result.macro);
  divide(static_cast<double>(sum.gold), result.weighted);
  result.macro.support = result.weighted.support = sum.gold;
  return result;
}

ClassReport class_report(std::span<const int64_t> gold, std::span<const int64_t> predicted,
                         int64_t classes) {
  check_lengths(gold.size(), predicted.size());
  std::vector<Counts> counts(static_cast<size_t>(std::max<int64_t>(classes, 0)));
  for (size_t i = 0; i < gold.size(); ++i) {
    Counts& wanted = counts[checked_label(gold[i], classes)];
    ++wanted.gold;
    ++counts[checked_label(predicted[i], classes)].predicted;
    wanted.right += gold[i] == predicted[i] ? 1 : 0;
  }
  ClassReport report;
  report.classes = scores_of(counts);
  report.averages = averages(counts);
  report.accuracy = report.averages.micro.recall;
  report.matthews = matthews(counts, static_cast<double>(gold.size()));
  return report;
}

MultiLabelReport multi_label_report(const LabelSets& gold, const LabelSets& predicted,
                                    int64_t classes) {
  check_lengths(gold.size(), predicted.size());
  std::vector<Counts> counts(static_cast<size_t>(std::max<int64_t>(classes, 0)));
  MultiLabelReport report;
  int64_t exact = 0, wrong = 0;
  for (size_t i = 0; i < gold.size(); ++i) {
    Counts item{0, std::ssize(predicted[i]), std::ssize(gold[i])};
    for (const int64_t label : gold[i]) ++counts[checked_label(label, classes)].gold;
    for (const int64_t label : predicted[i]) {
      Counts& of_label = counts[checked_label(label, classes)];
      ++of_label.predicted;
      if (!std::binary_search(gold[i].begin(), gold[i].end(), label)) continue;
      ++of_label.right;
      ++item.right;
    }
    const int64_t missed = item.predicted + item.gold - 2 * item.right;
    exact += missed == 0 ? 1 : 0;
    wrong += missed;
    add(scores(item), 1, report.samples);
  }
  const auto items = static_cast<double>(gold.size());
  divide(items, report.samples);
  report.classes = scores_of(counts);
  report.averages = averages(counts);
  report.samples.support = report.averages.micro.support;
  report.subset_accuracy = static_cast<double>(exact) / items;
  report.hamming_loss = ratio(static_cast<double>(wrong), items * static_cast<double>(classes));
  return report;
}

RegressionReport regression_report(std::span<const double> gold,
                                   std::span<const double> predicted) {
  check_lengths(gold.size(), predicted.size());
  RegressionReport report;
  for (size_t i = 0; i < gold.size(); ++i) {
    const double error = predicted[i] - gold[i];
    report.mse += error * error;
    report.mae += std::abs(error);
  }
  report.mse /= static_cast<double>(gold.size());
  report.mae /= static_cast<double>(gold.size());
  if (!std::isfinite(report.mse) || !std::isfinite(report.mae)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "predictions differ so much from gold numbers that the sum of the squares is beyond "
        "64-bit floating point; scale both");
  }
  report.rmse = std::sqrt(report.mse);
  report.pearson = pearson(gold, predicted);
  report.spearman = pearson(ranks(gold), ranks(predicted));
  return report;
}

}  // namespace longformer::tasks
