#include "io/datasets/conll.h"

#include <optional>

namespace longformer::io {
namespace {

std::vector<std::string_view> columns_of(std::string_view line) {
  const bool tabs = line.find('\t') != std::string_view::npos;
  std::vector<std::string_view> columns;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(tabs ? '\t' : ' ', at), line.size());
    if (tabs || end > at) columns.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return columns;
}

// Adds the word and the tag of a line, or says why it has none.
std::string add_token(std::string_view line, int64_t column, ConllSentence& sentence) {
  if (std::string fault = text_fault(line); !fault.empty()) return fault;
  const std::vector<std::string_view> columns = columns_of(line);
  const int64_t place = column < 0 ? std::ssize(columns) + column : column;
  if (place < 0 || place >= std::ssize(columns)) {
    return "has " + std::to_string(columns.size()) + " columns, no column " +
           std::to_string(column);
  }
  sentence.words.emplace_back(columns[0]);
  sentence.tags.emplace_back(columns[static_cast<size_t>(place)]);
  return "";
}

}  // namespace

ConllFile parse_conll(std::string_view text, int64_t column, const std::string& place) {
  ConllFile file;
  ConllSentence sentence;
  BadRecord bad;
  const auto end_sentence = [&] {
    if (sentence.line == 0) return;
    if (bad.line > 0) {
      bad.record = sentence.record;
      file.bad.push_back(bad);
    } else {
      file.sentences.push_back(std::move(sentence));
    }
    sentence = {.record = sentence.record + 1};
    bad = {};
  };
  int64_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    ++line_number;
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with("-DOCSTART-")) {
      end_sentence();
      continue;
    }
    check_rows(static_cast<size_t>(line_number), place);
    if (sentence.line == 0) sentence.line = line_number;
    const std::string fault = add_token(line, column, sentence);
    if (!fault.empty() && bad.line == 0) bad = {line_number, 0, fault};
  }
  end_sentence();
  return file;
}

}  // namespace longformer::io
