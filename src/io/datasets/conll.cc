#include "io/datasets/conll.h"

#include <algorithm>
#include <utility>

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

// Adds the word and the tag of a line, or says why it has none. `count`: columns of the lines
// before, 0 at the first: running text, which has any number of words a line, is no table.
std::string add_token(std::string_view line, int64_t column, size_t& count,
                      ConllSentence& sentence) {
  if (std::string fault = text_fault(line); !fault.empty()) return fault;
  const std::vector<std::string_view> columns = columns_of(line);
  if (count == 0) count = columns.size();
  if (columns.size() != count) {
    return "has " + std::to_string(columns.size()) + " columns, and the first line has " +
           std::to_string(count) + ": this is no table of words and tags";
  }
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

bool ConllReader::next(ConllSentence& sentence, BadRecord& bad) {
  sentence = {};
  bad = {};
  while (at_ < text_.size()) {
    const std::string_view line = next_line(text_, at_);
    ++line_;
    const bool document = line.starts_with("-DOCSTART-");
    if (document || line.find_first_not_of(" \t") == std::string_view::npos) {
      document_ += document ? 1 : 0;
      if (sentence.line > 0) break;
      continue;
    }
    if (sentence.line == 0) {
      sentence.line = line_;
      sentence.document = document_;
      sentence.record = record_++;
    }
    std::string fault = add_token(line, column_, columns_, sentence);
    if (!fault.empty() && bad.line == 0) bad = {line_, sentence.record, std::move(fault)};
  }
  return sentence.line > 0;
}

ConllFile parse_conll(std::string_view text, int64_t column, const std::string& place) {
  check_rows(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), place);
  ConllFile file;
  ConllReader reader(text, column);
  ConllSentence sentence;
  BadRecord bad;
  while (reader.next(sentence, bad)) {
    if (bad.line > 0) {
      file.bad.push_back(std::move(bad));
    } else {
      file.sentences.push_back(std::move(sentence));
    }
  }
  return file;
}

}  // namespace longformer::io
