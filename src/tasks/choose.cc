#include "tasks/choose.h"

#include <algorithm>

#include "longformer/error.h"
#include "tasks/softmax.h"

namespace longformer::tasks {

std::vector<CutText> cut_choices(const TextSpace& space, const ChoiceQuestion& question,
                                 LongText long_text) {
  if (question.choices.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is no choice to choose from");
  }
  if (long_text == LongText::kWindows) {
    throw Error(ErrorCode::kInvalidArgument, "choices cannot be compared across windows");
  }
  const bool has_context = !question.context.empty();
  std::vector<CutText> pairs;
  for (size_t i = 0; i < question.choices.size(); ++i) {
    const std::string& choice = question.choices[i];
    std::string second = choice;
    if (has_context && !question.question.empty()) second = question.question + " " + choice;
    try {
      pairs.push_back(cut_text(space, has_context ? question.context : question.question,
                               std::move(second), long_text, text::Truncation::kOnlyFirst));
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), "choice " + std::to_string(i + 1));
    }
  }
  return pairs;
}

void choose(TaskTextModel& model, std::span<const std::vector<CutText>> questions,
            const TaskRun& run, const ChoiceVisitor& visit) {
  std::vector<TaskSequence> sequences;
  std::vector<size_t> owners;
  for (size_t question = 0; question < questions.size(); ++question) {
    for (const CutText& pair : questions[question]) {
      sequences.push_back(sequence_of(pair, 0));
      owners.push_back(question);
    }
  }
  std::vector<float> logits;
  Choice result;
  run_sequences(model, sequences, run,
                [&](size_t index, std::span<const float> logit, int64_t global_tokens) {
                  logits.push_back(logit[0]);
                  result.global_tokens += global_tokens;
                  if (index + 1 < owners.size() && owners[index + 1] == owners[index]) return;
                  result.scores = softmax(logits);
                  result.best = static_cast<size_t>(std::max_element(logits.begin(), logits.end()) -
                                                    logits.begin());
                  visit(owners[index], result);
                  result = {};
                  logits.clear();
                });
}

}  // namespace longformer::tasks
