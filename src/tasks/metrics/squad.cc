#include "tasks/metrics/squad.h"

#include <algorithm>
#include <cmath>

#include "longformer/error.h"
#include "tasks/metrics/answer_text.h"

namespace longformer::tasks {
namespace {

void check_any(std::span<const AnsweredQuestion> questions) {
  if (questions.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is no question to evaluate");
  }
}

struct Pair {
  double exact = 0;
  double f1 = 0;
};

AnswerScores percentages(std::span<const Pair> scores) {
  double exact = 0, f1 = 0;
  for (const Pair& one : scores) {
    exact += one.exact;
    f1 += one.f1;
  }
  const auto total = static_cast<double>(scores.size());
  return {100.0 * exact / total, 100.0 * f1 / total, std::ssize(scores)};
}

AnswerScores best_of_answers(std::span<const AnsweredQuestion> questions, AnswerRules rules) {
  check_any(questions);
  std::vector<Pair> scores;
  for (const AnsweredQuestion& question : questions) {
    Pair& best = scores.emplace_back();
    if (question.answers.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "has no answer; SQuAD 2.0 is the data with such questions",
                  "question " + std::to_string(scores.size()));
    }
    if (!question.predicted) continue;
    const std::string predicted = normal_answer(*question.predicted, rules);
    for (const std::string& answer : question.answers) {
      const std::string gold = normal_answer(answer, rules);
      best.exact = std::max(best.exact, gold == predicted ? 1.0 : 0.0);
      best.f1 = std::max(best.f1, word_f1(gold, predicted));
    }
  }
  return percentages(scores);
}

// Without the threshold.
Pair raw_score(const AnsweredQuestion& question) {
  if (!question.predicted) return {};
  std::vector<std::string> gold;
  for (const std::string& answer : question.answers) {
    std::string normal = normal_answer(answer, AnswerRules::kSquad);
    if (!normal.empty()) gold.push_back(std::move(normal));
  }
  if (gold.empty()) gold.emplace_back();
  const std::string predicted = normal_answer(*question.predicted, AnswerRules::kSquad);
  Pair best;
  for (const std::string& answer : gold) {
    const double exact = answer == predicted ? 1 : 0;
    const bool none = answer.empty() || predicted.empty();
    best.exact = std::max(best.exact, exact);
    best.f1 = std::max(best.f1, none ? exact : word_f1(answer, predicted));
  }
  return best;
}

// Starts with every question unanswered and answers them in the order of their no_answer; one
// without a prediction counts against the score whether it has an answer or not.
BestThreshold best_threshold(std::span<const AnsweredQuestion> questions,
                             std::span<const double> scores) {
  std::vector<size_t> order;  // of those that were predicted
  for (size_t i = 0; i < questions.size(); ++i) {
    if (questions[i].predicted && questions[i].no_answer) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return *questions[a].no_answer < *questions[b].no_answer;
  });
  double score = static_cast<double>(
      std::count_if(questions.begin(), questions.end(), [](const AnsweredQuestion& question) {
        return question.answers.empty() && question.predicted;
      }));
  BestThreshold best{score, 0.0};
  for (const size_t i : order) {
    const AnsweredQuestion& question = questions[i];
    if (!question.answers.empty()) {
      score += scores[i];
    } else if (!question.predicted->empty()) {
      score -= 1;
    }
    if (score > best.score) best = {score, *question.no_answer};
  }
  best.score = 100.0 * best.score / static_cast<double>(questions.size());
  return best;
}

// Whether the questions that were predicted have a no_answer: all or none.
bool has_probabilities(std::span<const AnsweredQuestion> questions) {
  std::optional<bool> first;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (!questions[i].predicted) continue;
    const std::optional<double>& value = questions[i].no_answer;
    if (!first) first = value.has_value();
    if (value.has_value() == *first && (!value || std::isfinite(*value))) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "no-answer probabilities must be finite numbers, for all questions or none",
                "question " + std::to_string(i + 1));
  }
  return first.value_or(false);
}

}  // namespace

AnswerScores squad1_scores(std::span<const AnsweredQuestion> questions) {
  return best_of_answers(questions, AnswerRules::kSquad);
}

AnswerScores trivia_scores(std::span<const AnsweredQuestion> questions) {
  return best_of_answers(questions, AnswerRules::kTriviaQa);
}

Squad2Scores squad2_scores(std::span<const AnsweredQuestion> questions, double threshold) {
  check_any(questions);
  const bool probabilities = has_probabilities(questions);
  std::vector<Pair> all, has, none;
  std::vector<double> exact, f1;
  for (const AnsweredQuestion& question : questions) {
    Pair score = raw_score(question);
    exact.push_back(score.exact);
    f1.push_back(score.f1);
    const bool has_answer = !question.answers.empty();
    if (question.predicted && question.no_answer.value_or(0) > threshold) {
      score.exact = score.f1 = has_answer ? 0 : 1;
    }
    all.push_back(score);
    (has_answer ? has : none).push_back(score);
  }
  Squad2Scores result;
  result.all = percentages(all);
  if (!has.empty()) result.has_answer = percentages(has);
  if (!none.empty()) result.no_answer = percentages(none);
  if (probabilities) {
    result.best_exact = best_threshold(questions, exact);
    result.best_f1 = best_threshold(questions, f1);
  }
  return result;
}

}  // namespace longformer::tasks
