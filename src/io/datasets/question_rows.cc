#include "io/datasets/question_rows.h"

#include "io/json.h"

namespace longformer::io {
namespace {

using Kind = Cell::Kind;

std::string text_of(const Row& row, const std::string& field) {
  const Cell* const cell = row.find(field);
  return cell != nullptr && cell->kind == Kind::kText ? cell->text : std::string();
}

std::string add_answer(const Cell* text, const Cell* start, GoldQuestion& question) {
  if (text == nullptr || text->kind != Kind::kText) return "its answers must be strings";
  if (start != nullptr && start->kind != Kind::kNumber) return "its answer_start must be a number";
  question.answers.push_back(text->text);
  question.starts.push_back(start != nullptr ? start->number : kNoStart);
  return {};
}

// {"text": […], "answer_start": […]}, as data sets in columns have it.
std::string add_columns(const Cell& answers, const std::string& field, GoldQuestion& question) {
  const Cell* const texts = answers.find("text");
  const Cell* const starts = answers.find("answer_start");
  const bool lists = texts != nullptr && texts->kind == Kind::kList &&
                     (starts == nullptr || starts->kind == Kind::kList);
  if (!lists) return "has no list of answers in the field " + short_value(Json(field));
  if (starts != nullptr && starts->list.size() != texts->list.size()) {
    return "has " + std::to_string(texts->list.size()) + " answers and " +
           std::to_string(starts->list.size()) + " answer_start";
  }
  for (size_t i = 0; i < texts->list.size(); ++i) {
    std::string fault = add_answer(&texts->list[i], starts ? &starts->list[i] : nullptr, question);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string question_fault(const Row& row, const QuestionFields& fields, GoldQuestion& question,
                           std::string& context) {
  if (const Cell* const id = row.find(fields.id); id != nullptr) {
    if (id->kind == Kind::kLarge) return std::string("its id is ") + kLargeNumberFault;
    question.id = id->text;
  }
  question.question = text_of(row, fields.question);
  context = text_of(row, fields.context);
  const Cell* const answers = row.find(fields.answers);
  if (answers != nullptr && answers->kind == Kind::kObject) {
    return add_columns(*answers, fields.answers, question);
  }
  if (answers == nullptr || answers->kind != Kind::kList) {
    return "has no list of answers in the field " + short_value(Json(fields.answers));
  }
  for (const Cell& answer : answers->list) {
    const bool object = answer.kind == Kind::kObject;
    std::string fault = object
                            ? add_answer(answer.find("text"), answer.find("answer_start"), question)
                            : add_answer(&answer, nullptr, question);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace longformer::io
