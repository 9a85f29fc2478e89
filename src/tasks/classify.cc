#include "tasks/classify.h"

#include <algorithm>
#include <cmath>

#include "tasks/softmax.h"

namespace longformer::tasks {
namespace {

std::vector<double> scores_of(std::span<const float> logits, ScoreFunction function) {
  if (function == ScoreFunction::kSoftmax) return softmax(logits);
  std::vector<double> scores(logits.begin(), logits.end());
  if (function == ScoreFunction::kSigmoid) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  }
  return scores;
}

// Tokens of the first text in a window; a text without any still counts.
double weight_of(const text::Encoding& window) {
  return static_cast<double>(
      std::max<std::ptrdiff_t>(1, std::count(window.sequence.begin(), window.sequence.end(), 0)));
}

}  // namespace

ScoreFunction default_function(const TaskInfo& info) {
  if (info.problem_type == "regression") return ScoreFunction::kNone;
  if (info.problem == Problem::kMultiLabel || info.outputs == 1) return ScoreFunction::kSigmoid;
  return ScoreFunction::kSoftmax;
}

void classify(TaskTextModel& model, std::span<const CutText> texts, ScoreFunction function,
              const TaskRun& run, const ClassificationVisitor& visit) {
  std::vector<TaskSequence> sequences;
  std::vector<size_t> owners;
  for (size_t text = 0; text < texts.size(); ++text) {
    for (size_t window = 0; window < texts[text].windows.size(); ++window) {
      sequences.push_back(sequence_of(texts[text], window));
      owners.push_back(text);
    }
  }
  Classification result;
  double weights = 0;
  run_sequences(model, sequences, run,
                [&](size_t index, std::span<const float> logits, int64_t global_tokens) {
                  const std::vector<double> scores = scores_of(logits, function);
                  const double weight = weight_of(sequences[index].tokens);
                  result.scores.resize(scores.size());
                  for (size_t label = 0; label < scores.size(); ++label) {
                    result.scores[label] += weight * scores[label];
                  }
                  weights += weight;
                  result.global_tokens += global_tokens;
                  if (index + 1 < owners.size() && owners[index + 1] == owners[index]) return;
                  for (double& score : result.scores) score /= weights;
                  visit(owners[index], result);
                  result = {};
                  weights = 0;
                });
}

std::vector<LabelScore> best_labels(std::span<const double> scores, size_t count,
                                    double threshold) {
  std::vector<LabelScore> labels;
  for (size_t label = 0; label < scores.size(); ++label) {
    if (scores[label] >= threshold) labels.push_back({label, scores[label]});
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [](const LabelScore& a, const LabelScore& b) { return a.score > b.score; });
  if (count > 0 && labels.size() > count) labels.resize(count);
  return labels;
}

}  // namespace longformer::tasks
