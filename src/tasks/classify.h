// Which labels a text, or a pair of texts, has.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tasks/long_text.h"
#include "tasks/task_text.h"

namespace longformer::tasks {

// What makes scores of logits.
enum class ScoreFunction { kSoftmax, kSigmoid, kNone };
// As the reference's pipeline chooses it: none for a regression that config.json states, a sigmoid
// each for several labels at once or where there is only one, else softmax.
ScoreFunction default_function(const TaskInfo& info);

struct Classification {
  std::vector<double> scores;  // one a label, in the order of TaskInfo::labels
  int64_t global_tokens = 0;   // in all windows
};

// Classifies each text and visits them in order. The scores of several windows are averaged, each
// weighted by its tokens of the text.
using ClassificationVisitor = std::function<void(size_t index, const Classification& result)>;
void classify(TaskTextModel& model, std::span<const CutText> texts, ScoreFunction function,
              const TaskRun& run, const ClassificationVisitor& visit);

struct LabelScore {
  size_t label = 0;
  double score = 0;
};
// The best `count` (0: all) of the labels that reach `threshold`, best first, equal ones in order.
std::vector<LabelScore> best_labels(std::span<const double> scores, size_t count, double threshold);

}  // namespace longformer::tasks
