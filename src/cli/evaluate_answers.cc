// evaluate: answers to questions, SQuAD and TriviaQA.
#include <algorithm>
#include <map>
#include <utility>

#include "cli/evaluate.h"
#include "io/datasets/question_rows.h"
#include "io/datasets/rows.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/metrics/squad.h"

namespace longformer::cli {
namespace {

constexpr std::string_view kNoAnswerField = "no_answer_probability";

// Official files are one JSON document and end in .json.
bool is_json_lines(const std::string& path) {
  return std::filesystem::path(path).extension() != ".json";
}

std::vector<PredictedAnswer> read_rows_of_answers(const EvaluateOptions& options,
                                                  Evaluation& evaluation) {
  const std::string id_field = options.id_field.empty() ? "id" : options.id_field;
  const std::string& field = options.prediction_field;
  io::Rows rows = io::read_rows(options.predictions);
  std::vector<PredictedAnswer> answers;
  for (const io::Row& row : rows.rows) {
    const io::Cell* const id = row.find(id_field);
    const io::Cell* const text = row.find(field);
    const io::Cell* const none = row.find(kNoAnswerField);
    std::string fault;
    if (id != nullptr && id->kind == io::Cell::Kind::kLarge) {
      fault = std::string("its id is ") + io::kLargeNumberFault;
    } else if (id == nullptr || id->text.empty()) {
      fault = "has no id in the field " + io::short_value(Json(id_field));
    } else if (text == nullptr || text->kind != io::Cell::Kind::kText) {
      fault = "has no string in the field " + io::short_value(Json(field));
    } else if (none != nullptr && none->kind != io::Cell::Kind::kNumber) {
      fault = "the field \"" + std::string(kNoAnswerField) + "\" must be a number";
    }
    if (!fault.empty()) {
      rows.bad.push_back({row.line, row.record, fault});
      continue;
    }
    PredictedAnswer answer{id->text, text->text, {}};
    if (none != nullptr) answer.no_answer = none->number;
    answers.push_back(std::move(answer));
  }
  report_bad(options.predictions, rows.bad, evaluation);
  return answers;
}

std::vector<PredictedAnswer> read_predictions(const EvaluateOptions& options,
                                              Evaluation& evaluation) {
  std::vector<PredictedAnswer> answers;
  if (is_json_lines(options.predictions)) {
    answers = read_rows_of_answers(options, evaluation);
  } else {
    const std::string text = io::read_dataset(options.predictions);
    for (auto& [id, answer] : io::parse_texts_by_id(text, options.predictions)) {
      answers.push_back({id, std::move(answer), {}});
    }
  }
  if (options.no_answer_probabilities.empty()) return answers;
  const std::string& path = options.no_answer_probabilities;
  std::map<std::string, double> values;
  for (const auto& [id, value] : io::parse_numbers_by_id(io::read_dataset(path), path)) {
    values.emplace(id, value);
  }
  for (PredictedAnswer& answer : answers) {
    const auto found = values.find(answer.id);
    if (found == values.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "has no value for the question " + io::short_value(Json(answer.id)) +
                      ", which is predicted",
                  path);
    }
    answer.no_answer = found->second;
  }
  return answers;
}

void add_scores(const std::string& prefix, const tasks::AnswerScores& scores, Json& metrics) {
  metrics[prefix + "exact"] = scores.exact;
  metrics[prefix + "f1"] = scores.f1;
  metrics[prefix + "total"] = scores.total;
}

void score_squad2(const std::vector<tasks::AnsweredQuestion>& questions, double threshold,
                  Json& metrics) {
  const tasks::Squad2Scores scores = tasks::squad2_scores(questions, threshold);
  add_scores("", scores.all, metrics);
  if (scores.has_answer) add_scores("HasAns_", *scores.has_answer, metrics);
  if (scores.no_answer) add_scores("NoAns_", *scores.no_answer, metrics);
  if (scores.best_exact) {
    metrics["best_exact"] = scores.best_exact->score;
    metrics["best_exact_thresh"] = scores.best_exact->threshold;
    metrics["best_f1"] = scores.best_f1->score;
    metrics["best_f1_thresh"] = scores.best_f1->threshold;
  }
}

// In the order of the predictions, as the official scripts sort; those that are missing come last.
std::vector<tasks::AnsweredQuestion> join(const io::QuestionFile& gold,
                                          const std::vector<PredictedAnswer>& predictions,
                                          bool allow_missing, bool any_left_out, int64_t& missing) {
  std::map<std::string, std::pair<const io::GoldQuestion*, bool>> asked;
  for (const io::GoldQuestion& question : gold.questions) {
    asked.emplace(question.id, std::make_pair(&question, false));
  }
  std::vector<tasks::AnsweredQuestion> questions;
  for (const PredictedAnswer& prediction : predictions) {
    const std::string name = "question " + io::short_value(Json(prediction.id));
    const auto found = asked.find(prediction.id);
    if (found == asked.end()) {
      if (any_left_out) continue;  // it may be the one
      throw Error(ErrorCode::kInvalidArgument, "is predicted and not in the data", name);
    }
    if (std::exchange(found->second.second, true)) {
      throw Error(ErrorCode::kInvalidArgument, "is predicted twice", name);
    }
    questions.push_back({found->second.first->answers, prediction.text, prediction.no_answer});
  }
  for (const io::GoldQuestion& question : gold.questions) {
    if (asked.at(question.id).second) continue;
    if (!allow_missing) {
      throw Error(ErrorCode::kInvalidArgument,
                  "has no prediction; --allow-missing counts such questions as wrong",
                  "question " + io::short_value(Json(question.id)));
    }
    ++missing;
    questions.push_back({question.answers, std::nullopt, std::nullopt});
  }
  return questions;
}

}  // namespace

io::QuestionFile read_questions(const EvaluateOptions& options, AnswerData data,
                                Evaluation& evaluation) {
  if (!is_json_lines(options.data)) {
    const std::string text = io::read_dataset(options.data);
    return data == AnswerData::kSquad ? io::parse_squad(text, options.data)
                                      : io::parse_trivia(text, options.data);
  }
  const std::string id_field = options.id_field.empty() ? "id" : options.id_field;
  io::Rows rows = io::read_rows(options.data);
  io::QuestionFile file;
  std::map<std::string, int64_t> ids;
  const io::QuestionFields fields{
      .id = id_field, .context = options.text_field, .answers = options.label_field};
  for (const io::Row& row : rows.rows) {
    io::GoldQuestion question;
    std::string context;
    std::string fault = io::question_fault(row, fields, question, context);
    if (fault.empty() && question.id.empty()) {
      fault = "has no id in the field " + io::short_value(Json(id_field));
    } else if (fault.empty() && !ids.emplace(question.id, row.line).second) {
      fault = "its id stood in a line before";
    }
    if (!fault.empty()) {
      rows.bad.push_back({row.line, row.record, fault});
      continue;
    }
    question.context = file.contexts.size();
    file.contexts.push_back(std::move(context));
    file.version2 |= question.answers.empty();
    file.questions.push_back(std::move(question));
  }
  report_bad(options.data, rows.bad, evaluation);
  return file;
}

void score_answers(const io::QuestionFile& gold, AnswerData data,
                   const std::vector<PredictedAnswer>& predictions, const EvaluateOptions& options,
                   Evaluation& evaluation) {
  std::vector<tasks::AnsweredQuestion> questions =
      join(gold, predictions, options.allow_missing, evaluation.skipped > 0, evaluation.missing);
  evaluation.items = std::ssize(questions);
  const bool may_be_none = data == AnswerData::kSquad && gold.version2;
  if (options.no_answer_threshold) {
    const bool any = std::any_of(questions.begin(), questions.end(), [](const auto& question) {
      return question.no_answer.has_value();
    });
    if (!may_be_none || !any) {
      throw Error(ErrorCode::kInvalidArgument,
                  may_be_none
                      ? "the predictions have no probabilities that it would be compared with"
                      : "every question of the data has an answer",
                  "--no-answer-threshold");
    }
  }
  if (may_be_none) {
    score_squad2(questions, options.no_answer_threshold.value_or(1.0), evaluation.metrics);
    return;
  }
  const tasks::AnswerScores scores = data == AnswerData::kSquad ? tasks::squad1_scores(questions)
                                                                : tasks::trivia_scores(questions);
  evaluation.metrics["exact_match"] = scores.exact;
  evaluation.metrics["f1"] = scores.f1;
}

Evaluation evaluate_answers(const EvaluateOptions& options) {
  Evaluation evaluation;
  const AnswerData data = options.task == "squad" ? AnswerData::kSquad : AnswerData::kTriviaQa;
  const io::QuestionFile gold = read_questions(options, data, evaluation);
  const std::vector<PredictedAnswer> predictions = read_predictions(options, evaluation);
  score_answers(gold, data, predictions, options, evaluation);
  return evaluation;
}

}  // namespace longformer::cli
