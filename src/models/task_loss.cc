#include "models/task_loss.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "longformer/error.h"
#include "models/head_rows.h"
#include "ops/losses.h"

namespace longformer {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::string number(int64_t value) { return std::to_string(value); }

void check_count(const char* what, size_t given, size_t wanted, const char* of_what) {
  if (given == wanted) return;
  refuse(std::string(what) + " holds " + std::to_string(given) + " values; one a " + of_what +
         " is " + std::to_string(wanted));
}

bool by_values(const TaskInfo& info) {
  return info.task == Task::kSequenceClassification && info.problem != Problem::kSingleLabel;
}

}  // namespace

TaskLoss::TaskLoss(const HeadConfig& head, const TrainingBatch& batch, double label_smoothing)
    : head_(head), batch_(batch), smoothing_(label_smoothing) {
  const size_t tokens = batch.input.input_ids.size();
  const size_t sequences = batch.input.lengths.size();
  const TaskInfo& info = head.info;
  if (head.rows == HeadRows::kFirst || head.rows == HeadRows::kFirstReal) {
    rows_ = sequence_rows(head.rows, batch.input);
  }
  head_rows_ = static_cast<int64_t>(head.rows == HeadRows::kTokens ? tokens : sequences);
  switch (info.task) {
    case Task::kMaskedLm:
    case Task::kTokenClassification:
      read_classes(info.outputs, "token", tokens);
      break;
    case Task::kSequenceClassification:
      if (!by_values(info)) {
        read_classes(info.outputs, "sequence", sequences);
        break;
      }
      check_count("labels", batch.targets.values.size(),
                  sequences * static_cast<size_t>(info.outputs), "sequence and label");
      labels_ = static_cast<int64_t>(batch.targets.values.size());
      break;
    case Task::kMultipleChoice:
      read_choices();
      break;
    case Task::kQuestionAnswering:
      read_spans();
      break;
  }
}

// The labels, and where a token is a row only those rows that have one.
void TaskLoss::read_classes(int64_t outputs, const char* of_what, size_t wanted) {
  const std::vector<int64_t>& classes = batch_.targets.classes;
  check_count("labels", classes.size(), wanted, of_what);
  const bool by_token = head_.rows == HeadRows::kTokens;
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t label = classes[i];
    if (label != kIgnoredLabel && (label < 0 || label >= outputs)) {
      refuse("label " + number(label) + " of " + of_what + " " + std::to_string(i) +
             " is outside 0 to " + number(outputs - 1) + "; " + number(kIgnoredLabel) +
             " means none");
    }
    if (label != kIgnoredLabel) ++labels_;
    if (by_token && label == kIgnoredLabel) continue;
    if (by_token) rows_.push_back(static_cast<int64_t>(i));
    classes_.push_back(label);
  }
  head_rows_ = static_cast<int64_t>(classes_.size());
}

void TaskLoss::read_spans() {
  const std::vector<int64_t>& lengths = batch_.input.lengths;
  check_count("spans", batch_.targets.spans.size(), lengths.size(), "sequence");
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (const TokenSpan& span : batch_.targets.spans[s]) {
      if (span.first >= 0 && span.first <= span.last && span.last < lengths[s]) continue;
      refuse("the answer of sequence " + std::to_string(s) + " is tokens " + number(span.first) +
             " to " + number(span.last) + "; the sequence has tokens 0 to " +
             number(lengths[s] - 1) + ", and first is not behind last");
    }
    if (!batch_.targets.spans[s].empty()) ++labels_;
  }
}

void TaskLoss::read_choices() {
  const Targets& targets = batch_.targets;
  const auto sequences = static_cast<int64_t>(batch_.input.lengths.size());
  const int64_t given = std::accumulate(targets.choices.begin(), targets.choices.end(), int64_t{0});
  if (given != sequences) {
    refuse("the questions have " + number(given) + " choices together; there are " +
           number(sequences) + " sequences");
  }
  check_count("labels", targets.classes.size(), targets.choices.size(), "question");
  for (size_t q = 0; q < targets.choices.size(); ++q) {
    const int64_t label = targets.classes[q];
    if (label == kIgnoredLabel) continue;
    if (label < 0 || label >= targets.choices[q]) {
      refuse("label " + number(label) + " of question " + std::to_string(q) + " is outside 0 to " +
             number(targets.choices[q] - 1));
    }
    ++labels_;
  }
}

int64_t TaskLoss::chunk_rows() const {
  const bool row_by_row = !classes_.empty();
  return row_by_row ? head_chunk_rows(head_.info.outputs) : std::max<int64_t>(head_rows_, 1);
}

double TaskLoss::spans(double scale, float* logits) const {
  double sum = 0;
  float* row = logits;
  for (size_t s = 0; s < batch_.input.lengths.size(); ++s) {
    const int64_t length = batch_.input.lengths[s];
    std::set<int64_t> first, last;
    for (const TokenSpan& span : batch_.targets.spans[s]) {
      first.insert(span.first);
      last.insert(span.last);
    }
    const std::vector<int64_t> starts(first.begin(), first.end());
    const std::vector<int64_t> ends(last.begin(), last.end());
    sum += choice_loss(length, 2, starts, scale / 2, row) / 2;
    sum += choice_loss(length, 2, ends, scale / 2, row + 1) / 2;
    row += 2 * length;
  }
  return sum;
}

double TaskLoss::choices(double scale, float* logits) const {
  double sum = 0;
  for (size_t q = 0; q < batch_.targets.choices.size(); ++q) {
    const int64_t count = batch_.targets.choices[q];
    if (count == 0) continue;
    const int64_t label = batch_.targets.classes[q];
    std::vector<int64_t> right;
    if (label != kIgnoredLabel) right.push_back(label);
    sum += choice_loss(count, 1, right, scale, logits);
    logits += count;
  }
  return sum;
}

double TaskLoss::apply(int64_t first, int64_t count, double scale, float* logits,
                       ThreadPool& pool) const {
  const TaskInfo& info = head_.info;
  if (info.task == Task::kQuestionAnswering) return spans(scale, logits);
  if (info.task == Task::kMultipleChoice) return choices(scale, logits);
  if (!by_values(info)) {
    return cross_entropy(count, info.outputs, classes_.data() + first, smoothing_, scale, logits,
                         pool);
  }
  const float* const values = batch_.targets.values.data() + first * info.outputs;
  const int64_t elements = count * info.outputs;
  return info.problem == Problem::kRegression
             ? squared_error(elements, values, scale, logits)
             : binary_cross_entropy(elements, values, scale, logits);
}

}  // namespace longformer
