// Which of several choices goes with a context: a model for multiple choice.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tasks/long_text.h"
#include "tasks/task_text.h"

namespace longformer::tasks {

struct ChoiceQuestion {
  std::string context;   // may be empty
  std::string question;  // may be empty
  std::vector<std::string> choices;
};

// One pair a choice, as the reference's examples build them: the context, repeated, and behind it
// the question and the choice; without a context the question stands in its place. Contexts that
// are too long are cut off (kTruncate; only they are), or refused; windows are not possible.
// Throws kInvalidArgument without choices, or where question and choice alone fill the model.
std::vector<CutText> cut_choices(const TextSpace& space, const ChoiceQuestion& question,
                                 LongText long_text);

struct Choice {
  size_t best = 0;             // the first of equal ones
  std::vector<double> scores;  // softmax over the choices
  int64_t global_tokens = 0;   // in all pairs
};

// `questions`: the pairs of each. Visits them in order.
using ChoiceVisitor = std::function<void(size_t index, const Choice& result)>;
void choose(TaskTextModel& model, std::span<const std::vector<CutText>> questions,
            const TaskRun& run, const ChoiceVisitor& visit);

}  // namespace longformer::tasks
