// Answers to a question from a text, as the reference's question-answering pipeline finds them:
// windows over the text, each with all of the question, and the likeliest spans of all windows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tasks/long_text.h"
#include "tasks/task_text.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

struct AnswerOptions {
  int64_t top_k = 1;
  int64_t max_answer_length = 15;  // tokens
  // Tokens of a window, question and special tokens included; 0: what the model reads, where the
  // reference takes min(384, model_max_length).
  int64_t max_seq_len = 0;
  // Tokens that neighbouring windows share; none: min(128, max_seq_len / 2), as the reference, and
  // half of the room for text where a long question leaves less than that.
  std::optional<int64_t> stride;
  bool impossible = false;  // "no answer" takes part, with the score of the null span
  // The null span ranks as if its score were lower by this much; 0: as in the reference.
  double no_answer_threshold = 0;
  bool align_to_words = true;  // spans grow to whole words
};

struct Answer {
  // Product of the softmax of start and end, summed over all spans with this text (in any case, in
  // any window), so it may exceed 1; of no answer: of the first token, the least of all windows.
  double score = 0;
  bool none = false;        // no answer; then both offsets are (0, 0)
  text::Offset bytes;       // of the text; the place that was found first
  text::Offset characters;  // code points of the text
};

struct Answers {
  std::vector<Answer> best;  // best first, one at least
  double null_score = 0;     // of "no answer", whether it takes part or not
  int64_t global_tokens = 0;
};

// What a list of answers is sorted by.
double rank_of(const Answer& answer, const AnswerOptions& options);

// `first` is the question, `second` the text. Throws kInvalidArgument for an empty one, a question
// that fills the window, a stride that the room for text does not allow, lengths beyond the model.
CutText cut_question(const TextSpace& space, std::string question, std::string text,
                     const AnswerOptions& options);

// Visits the texts in order, with their answers. The windows go through the model in calls of
// run.batch_tokens; of a window nothing is kept but its best spans.
using AnswerVisitor = std::function<void(size_t index, const Answers& answers)>;
void answer(TaskTextModel& model, std::span<const CutText> texts, const AnswerOptions& options,
            const TaskRun& run, const AnswerVisitor& visit);

// One question and one text.
Answers answer(TaskTextModel& model, std::string question, std::string text,
               const AnswerOptions& options = {}, const TaskRun& run = {});

}  // namespace longformer::tasks
