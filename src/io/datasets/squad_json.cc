#include "io/datasets/squad_json.h"

#include <set>

#include "io/datasets/bad_record.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

// A value inside the document, with the way to it.
struct Node {
  const Json* value;
  std::string place;

  [[noreturn]] void fail(const std::string& rule) const {
    throw Error(ErrorCode::kInvalidFile, rule, place);
  }
  bool has(const char* key) const { return value->contains(key) && !(*value)[key].is_null(); }
  Node at(const char* key) const {
    if (!value->is_object()) fail("must be an object");
    const auto found = value->find(key);
    if (found == value->end()) fail(std::string("has no \"") + key + "\"");
    return {&*found, place + "." + key};
  }
  std::string text() const {
    if (!value->is_string()) fail("must be a string");
    return value->get<std::string>();
  }
  double number() const {
    if (!value->is_number()) fail("must be a number");
    return value->get<double>();
  }
  template <class Visit>
  void each(const Visit& visit) const {
    if (!value->is_array()) fail("must be a list");
    for (size_t i = 0; i < value->size(); ++i) {
      visit(Node{&(*value)[i], place + "[" + std::to_string(i) + "]"});
    }
  }
};

Json parse_text(std::string_view text, const std::string& place) {
  if (const std::string fault = text_fault(text); !fault.empty()) {
    throw Error(ErrorCode::kInvalidFile, fault, place);
  }
  return parse_json(text, place, DuplicateKeys::kRefused);
}

class Questions {
 public:
  void add(const Node& at, GoldQuestion question) {
    if (!ids_.insert(question.id).second) at.fail("its id stands twice in the file");
    file.questions.push_back(std::move(question));
  }
  QuestionFile file;

 private:
  std::set<std::string> ids_;
};

std::vector<std::string> texts(const Node& list) {
  std::vector<std::string> result;
  list.each([&](const Node& item) { result.push_back(item.text()); });
  return result;
}

}  // namespace

QuestionFile parse_squad(std::string_view text, const std::string& place) {
  const Json json = parse_text(text, place);
  const Node root{&json, place};
  Questions questions;
  root.at("data").each([&](const Node& article) {
    article.at("paragraphs").each([&](const Node& paragraph) {
      const size_t context = questions.file.contexts.size();
      questions.file.contexts.push_back(paragraph.has("context") ? paragraph.at("context").text()
                                                                 : std::string());
      paragraph.at("qas").each([&](const Node& qa) {
        GoldQuestion question{.id = qa.at("id").text(), .context = context};
        if (qa.has("question")) question.question = qa.at("question").text();
        qa.at("answers").each([&](const Node& answer) {
          question.answers.push_back(answer.at("text").text());
          question.starts.push_back(answer.has("answer_start") ? answer.at("answer_start").number()
                                                               : kNoStart);
        });
        questions.file.version2 |= question.answers.empty();
        questions.add(qa, std::move(question));
      });
    });
  });
  if (root.has("version") && json["version"].is_string()) {
    const std::string version = json["version"].get<std::string>();
    questions.file.version2 |= version.starts_with("v2") || version.starts_with("2");
  }
  return std::move(questions.file);
}

QuestionFile parse_trivia(std::string_view text, const std::string& place) {
  const Json json = parse_text(text, place);
  const Node root{&json, place};
  const bool by_document = root.has("Domain") && root.at("Domain").text() != "Wikipedia";
  Questions questions;
  root.at("Data").each([&](const Node& item) {
    GoldQuestion question{.id = item.at("QuestionId").text()};
    const Node answer = item.at("Answer");
    question.answers = texts(answer.at("NormalizedAliases"));
    if (answer.has("HumanAnswers")) {
      for (std::string& one : texts(answer.at("HumanAnswers"))) {
        question.answers.push_back(std::move(one));
      }
    }
    if (question.answers.empty()) answer.fail("holds no answer");
    if (!by_document) {
      questions.add(item, std::move(question));
      return;
    }
    for (const char* pages : {"EntityPages", "SearchResults"}) {
      if (!item.has(pages)) continue;
      item.at(pages).each([&](const Node& page) {
        GoldQuestion one{.id = question.id + "--" + page.at("Filename").text()};
        one.answers = question.answers;
        questions.add(page, std::move(one));
      });
    }
  });
  return std::move(questions.file);
}

std::vector<std::pair<std::string, std::string>> parse_texts_by_id(std::string_view text,
                                                                   const std::string& place) {
  const Json json = parse_text(text, place);
  if (!json.is_object()) throw Error(ErrorCode::kInvalidFile, "must be an object", place);
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [id, value] : json.items()) {
    result.emplace_back(id, Node{&value, place + "." + short_value(Json(id))}.text());
  }
  return result;
}

std::vector<std::pair<std::string, double>> parse_numbers_by_id(std::string_view text,
                                                                const std::string& place) {
  const Json json = parse_text(text, place);
  if (!json.is_object()) throw Error(ErrorCode::kInvalidFile, "must be an object", place);
  std::vector<std::pair<std::string, double>> result;
  for (const auto& [id, value] : json.items()) {
    if (!value.is_number()) {
      Node{&value, place + "." + short_value(Json(id))}.fail("must be a number");
    }
    result.emplace_back(id, value.get<double>());
  }
  return result;
}

}  // namespace longformer::io
