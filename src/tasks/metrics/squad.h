// Exact match and F1 of answers to questions, as the official scripts of SQuAD 1.1, SQuAD 2.0 and
// TriviaQA 1.0 compute them. All texts are valid UTF-8. Shares are percentages, as there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace longformer::tasks {

// One question, its gold answers, and what was predicted.
struct AnsweredQuestion {
  std::vector<std::string> answers;  // any of them is right; none: the question has no answer
  // Absent: nothing was predicted; it scores 0 and counts.
  std::optional<std::string> predicted;  // empty: "there is no answer"
  std::optional<double> no_answer;       // probability, or any score that grows with it
};

struct AnswerScores {
  double exact = 0;
  double f1 = 0;
  int64_t total = 0;
};
// SQuAD 1.1 and TriviaQA: the best gold answer counts. Throws kInvalidArgument: no question, or one
// without an answer (naming it, from 1).
AnswerScores squad1_scores(std::span<const AnsweredQuestion> questions);
// The answers are normal forms already (TriviaQA's NormalizedAliases) or texts; both work: exact
// match compares the normal form of both sides.
AnswerScores trivia_scores(std::span<const AnsweredQuestion> questions);

struct BestThreshold {
  double score = 0;      // the best percentage that any threshold gives
  double threshold = 0;  // questions with a greater no_answer count as unanswered
};
struct Squad2Scores {
  AnswerScores all;
  std::optional<AnswerScores> has_answer;  // of the questions with an answer; absent: there is none
  std::optional<AnswerScores> no_answer;
  // Where each question has a `no_answer`; ties are broken in the order of the questions.
  std::optional<BestThreshold> best_exact;
  std::optional<BestThreshold> best_f1;
};
// A prediction whose no_answer is above `threshold` counts as "there is no answer". Answers whose
// normal form is empty count as none. Throws kInvalidArgument: no question, no_answer at some
// questions only, or not finite.
Squad2Scores squad2_scores(std::span<const AnsweredQuestion> questions, double threshold = 1.0);

}  // namespace longformer::tasks
