#include "train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "longformer/error.h"
#include "tasks/metrics/entities.h"

namespace longformer::train {
namespace {

// The first of the largest values z[0], z[stride], ….
int64_t argmax(int64_t count, int64_t stride, const float* z) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (z[i * stride] > z[best * stride]) best = i;
  }
  return best;
}

}  // namespace

void Evaluation::count(bool right) {
  ++decided_;
  if (right) ++right_;
}

void Evaluation::add_loss(double sum, int64_t labels) {
  loss_ += sum;
  labels_ += labels;
}

void Evaluation::add(const TaskLoss& loss, int64_t first, int64_t rows, const float* logits) {
  switch (info_.task) {
    case Task::kTokenClassification:
      return add_tags(loss, first, rows, logits);
    case Task::kMultipleChoice:
      return add_choices(logits);
    case Task::kQuestionAnswering:
      return add_spans(logits);
    default:
      if (loss.classes().empty()) return add_values(first, rows, logits);
      add_classes(loss.classes(), first, rows, logits);
  }
}

void Evaluation::add_classes(const std::vector<int64_t>& classes, int64_t first, int64_t rows,
                             const float* logits) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t label = classes[static_cast<size_t>(first + r)];
    if (label < 0) continue;
    count(argmax(info_.outputs, 1, logits + r * info_.outputs) == label);
  }
}

void Evaluation::add_tags(const TaskLoss& loss, int64_t first, int64_t rows, const float* logits) {
  add_classes(loss.classes(), first, rows, logits);
  const std::vector<int64_t>& lengths = batch_->input.lengths;
  if (first == 0) {
    gold_.resize(gold_.size() + lengths.size());
    predicted_.resize(gold_.size());
  }
  size_t sequence = 0;
  int64_t end = lengths.empty() ? 0 : lengths[0];
  const size_t base = gold_.size() - lengths.size();
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = loss.rows()[static_cast<size_t>(first + r)];
    while (row >= end) end += lengths[++sequence];
    const int64_t label = loss.classes()[static_cast<size_t>(first + r)];
    const int64_t best = argmax(info_.outputs, 1, logits + r * info_.outputs);
    gold_[base + sequence].push_back(info_.labels[static_cast<size_t>(label)]);
    predicted_[base + sequence].push_back(info_.labels[static_cast<size_t>(best)]);
  }
}

void Evaluation::add_choices(const float* logits) {
  const Targets& targets = batch_->targets;
  for (size_t q = 0; q < targets.choices.size(); ++q) {
    const int64_t choices = targets.choices[q];
    if (choices > 0 && targets.classes[q] >= 0) {
      count(argmax(choices, 1, logits) == targets.classes[q]);
    }
    logits += choices;
  }
}

// Whether the best start and the best end are those of one right span.
void Evaluation::add_spans(const float* logits) {
  for (size_t s = 0; s < batch_->input.lengths.size(); ++s) {
    const int64_t length = batch_->input.lengths[s];
    const std::vector<TokenSpan>& right = batch_->targets.spans[s];
    const TokenSpan found{argmax(length, 2, logits), argmax(length, 2, logits + 1)};
    if (!right.empty()) count(std::find(right.begin(), right.end(), found) != right.end());
    logits += 2 * length;
  }
}

void Evaluation::add_values(int64_t first, int64_t rows, const float* logits) {
  if (info_.problem != Problem::kMultiLabel) return;
  const float* const targets = batch_->targets.values.data() + first * info_.outputs;
  for (int64_t r = 0; r < rows; ++r) {  // a text is right when all of its labels are
    bool right = true;
    for (int64_t i = r * info_.outputs; i < (r + 1) * info_.outputs; ++i) {
      right = right && (logits[i] > 0) == (targets[i] > 0.5f);
    }
    count(right);
  }
}

std::map<std::string, double> Evaluation::scores() const {
  std::map<std::string, double> scores;
  if (labels_ == 0) return scores;
  scores["loss"] = loss_ / static_cast<double>(labels_);
  if (info_.task == Task::kMaskedLm) scores["bits"] = scores["loss"] / std::numbers::ln2;
  const bool spans = info_.task == Task::kQuestionAnswering;
  if (decided_ > 0) {
    scores[spans ? "exact" : "accuracy"] =
        static_cast<double>(right_) / static_cast<double>(decided_);
  }
  if (gold_.empty()) return scores;
  try {
    scores["f1"] =
        tasks::entity_report(gold_, predicted_, tasks::TagScheme::kLenient).averages.micro.f1;
  } catch (const Error&) {
    // Labels that are no tags of entities have no F1; their accuracy stands.
  }
  return scores;
}

}  // namespace longformer::train
