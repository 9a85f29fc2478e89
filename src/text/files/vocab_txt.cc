#include "text/files/vocab_txt.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/json.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

std::string_view without_trailing_space(std::string_view line) {
  while (!line.empty()) {
    const size_t begin = utf8::previous(line, line.size());
    size_t at = begin;
    if ((unicode::flags(utf8::next(line, at)) & unicode::kSpace) == 0) break;
    line = line.substr(0, begin);
  }
  return line;
}

void check_text(std::string_view text, const std::string& place) {
  if (text.size() > kMaxTokenizerBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "larger than the limit of " + std::to_string(kMaxTokenizerBytes) + " bytes", place);
  }
  if (std::count(text.begin(), text.end(), '\n') > kMaxVocabulary) {
    throw Error(ErrorCode::kInvalidFile, "more than " + std::to_string(kMaxVocabulary) + " lines",
                place);
  }
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size()) {
    throw Error(ErrorCode::kInvalidFile, "not UTF-8 at byte " + std::to_string(valid), place);
  }
}

}  // namespace

Vocabulary read_vocab_txt(std::string_view text, const std::string& place) {
  check_text(text, place);
  Vocabulary vocabulary;
  std::map<std::string_view, size_t> index;
  int64_t line_number = 0;
  for (size_t at = 0; at < text.size(); ++line_number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view token = without_trailing_space(text.substr(at, end - at));
    const std::string what = "line " + std::to_string(line_number + 1);
    const int32_t id = checked_id(line_number, what, place);
    if (token.size() > kMaxTokenBytes) {
      throw Error(ErrorCode::kInvalidFile,
                  what + " is longer than " + std::to_string(kMaxTokenBytes) + " bytes", place);
    }
    const auto [known, is_new] = index.emplace(token, vocabulary.size());
    if (is_new) {
      vocabulary.emplace_back(token, id);
    } else {
      vocabulary[known->second].second = id;
    }
    at = end + 1;
  }
  return vocabulary;
}

Vocabulary read_vocab_json(const std::string& text, const std::string& place) {
  Vocabulary vocabulary = parse_vocabulary(text, kMaxTokenizerBytes, place);
  if (vocabulary.empty()) throw Error(ErrorCode::kInvalidFile, "holds no tokens", place);
  check_vocabulary(vocabulary, place);
  return vocabulary;
}

}  // namespace longformer::text
