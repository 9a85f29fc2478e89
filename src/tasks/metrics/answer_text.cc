#include "tasks/metrics/answer_text.h"

#include <array>
#include <map>
#include <vector>

#include "text/unicode/python_text.h"
#include "text/unicode/utf8.h"

namespace longformer::tasks {
namespace {

constexpr std::array<std::string_view, 3> kArticles = {"a", "an", "the"};

// string.punctuation
bool is_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

bool is_quotation_mark(char32_t c) { return c == 0x2018 || c == 0x2019 || c == 0xB4; }

std::string without_punctuation(std::string_view text, AnswerRules rules) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = text::utf8::next(text, at);
    if (rules == AnswerRules::kTriviaQa && (is_punctuation(c) || is_quotation_mark(c))) {
      out += ' ';
    } else if (!is_punctuation(c)) {
      out += text.substr(begin, at - begin);
    }
  }
  return out;
}

}  // namespace

std::string normal_answer(std::string_view text, AnswerRules rules) {
  const std::string plain = without_punctuation(text::unicode::python_lower(text), rules);
  const std::string words = text::unicode::python_blank_words(plain, kArticles);
  std::string out;
  for (const std::string_view word : text::unicode::python_split(words)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

double word_f1(std::string_view normal_gold, std::string_view normal_predicted) {
  const std::vector<std::string_view> gold = text::unicode::python_split(normal_gold);
  const std::vector<std::string_view> predicted = text::unicode::python_split(normal_predicted);
  std::map<std::string_view, int64_t> left;
  for (const std::string_view word : gold) ++left[word];
  double same = 0;
  for (const std::string_view word : predicted) {
    const auto found = left.find(word);
    if (found != left.end() && found->second-- > 0) ++same;
  }
  if (same == 0) return 0;
  const double precision = same / static_cast<double>(predicted.size());
  const double recall = same / static_cast<double>(gold.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace longformer::tasks
