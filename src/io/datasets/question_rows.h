// Questions with their texts and answers as rows: JSON lines with an object each.
#pragma once

#include <string>

#include "io/datasets/rows.h"
#include "io/datasets/squad_json.h"

namespace longformer::io {

struct QuestionFields {
  std::string id = "id";
  std::string question = "question";
  std::string context = "context";
  std::string answers = "answers";
};

// Answers are a list of strings, a list of {"text", "answer_start"}, or the lists of
// {"text": [], "answer_start": []}; the list may be empty. Id, question and context are left empty
// where the row has no such string. Returns an empty string, or a sentence about the row.
std::string question_fault(const Row& row, const QuestionFields& fields, GoldQuestion& question,
                           std::string& context);

}  // namespace longformer::io
