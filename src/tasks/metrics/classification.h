// Class labels and numbers against gold ones, as scikit-learn 1.9 and SciPy 1.17 measure them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace longformer::tasks {

struct Scores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  int64_t support = 0;  // gold items
};

// Of one class: how often it was right, predicted, and gold.
struct Counts {
  int64_t right = 0;
  int64_t predicted = 0;
  int64_t gold = 0;
};

// right / predicted, right / gold, 2 right / (predicted + gold); 0 where that divides by zero.
Scores scores(const Counts& counts);

struct Averages {
  Scores micro;     // of the sums of all counts
  Scores macro;     // plain mean over classes
  Scores weighted;  // mean over classes, weighted by support
};
// Zeros where there is no class; the weighted ones also where nothing is gold.
Averages averages(std::span<const Counts> classes);

struct ClassReport {
  double accuracy = 0;
  double matthews = 0;  // multiclass; 0 where one side is constant
  std::vector<Scores> classes;
  Averages averages;
};
// Labels are 0 … classes - 1, and each should occur on one side at least: macro is the mean over
// all. Throws kInvalidArgument: different or no lengths, a label outside.
ClassReport class_report(std::span<const int64_t> gold, std::span<const int64_t> predicted,
                         int64_t classes);

struct MultiLabelReport {
  double subset_accuracy = 0;  // items whose set of labels is right as a whole
  double hamming_loss = 0;     // wrong decisions over items x classes
  std::vector<Scores> classes;
  Averages averages;
  Scores samples;  // mean over items; an item without labels on both sides counts as 0
};
using LabelSets = std::vector<std::vector<int64_t>>;  // sorted, each label once
MultiLabelReport multi_label_report(const LabelSets& gold, const LabelSets& predicted,
                                    int64_t classes);

struct RegressionReport {
  double mse = 0;
  double rmse = 0;
  double mae = 0;
  std::optional<double> pearson;   // absent: fewer than two items, or one side is constant
  std::optional<double> spearman;  // Pearson of ranks; equal values share the mean of theirs
};
// Throws kInvalidArgument as well where the sum of the squared errors overflows.
RegressionReport regression_report(std::span<const double> gold, std::span<const double> predicted);

}  // namespace longformer::tasks
