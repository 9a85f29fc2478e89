// Questions with their answers: SQuAD 1.1 and 2.0, TriviaQA; and objects of values by id.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longformer::io {

inline constexpr double kNoStart = -0.5;  // numbers of JSON are what they are: -1 is a wrong start

struct GoldQuestion {
  std::string id;
  std::vector<std::string> answers;
  std::vector<double> starts;  // of each answer, code points of the context; kNoStart: not given
  std::string question;        // may be empty: scores need none
  size_t context = 0;          // of QuestionFile::contexts
};
struct QuestionFile {
  bool version2 = false;  // SQuAD: "version" says v2, or some question has no answer
  std::vector<GoldQuestion> questions;
  std::vector<std::string> contexts;  // texts that the questions are about; may be empty
};

// {"version", "data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers":
// [{"text", "answer_start"}]}]}]}]}, where "context", "question" and "answer_start" may be absent.
// Throws kInvalidFile with the place of what is missing or of the wrong type, and for an id that
// stands twice.
QuestionFile parse_squad(std::string_view text, const std::string& place);

// {"Domain", "Data": [{"QuestionId", "Answer": {"NormalizedAliases", "HumanAnswers"}}]}. Where the
// domain is not Wikipedia, each document of a question (EntityPages, SearchResults: "Filename") is
// a question of its own with the id QUESTION--DOCUMENT, as in the official script.
QuestionFile parse_trivia(std::string_view text, const std::string& place);

// {"ID": "text"}
std::vector<std::pair<std::string, std::string>> parse_texts_by_id(std::string_view text,
                                                                   const std::string& place);
// {"ID": 0.5}
std::vector<std::pair<std::string, double>> parse_numbers_by_id(std::string_view text,
                                                                const std::string& place);

}  // namespace longformer::io
