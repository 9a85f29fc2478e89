// Tags in columns: a token a line, a blank line behind each sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/datasets/bad_record.h"

namespace longformer::io {

struct ConllSentence {
  int64_t line = 0;                // of its first token, from 1
  int64_t record = 0;              // from 0, together with the bad ones
  int64_t document = 0;            // lines -DOCSTART- in front of it
  std::vector<std::string> words;  // column 0
  std::vector<std::string> tags;
};
struct ConllFile {
  std::vector<ConllSentence> sentences;
  std::vector<BadRecord> bad;  // sentences with a line that lacks the column, has other columns
                               // than the first line, or is not UTF-8
};

// `column`: from 0, or from the end: -1 is the last one. Columns are parted by tabs where the line
// has one, else by spaces. Lines that begin with -DOCSTART- part sentences and hold no token.
// Nothing is a comment.
ConllFile parse_conll(std::string_view text, int64_t column, const std::string& place);

// One sentence after the other; `text` must outlive it.
class ConllReader {
 public:
  ConllReader(std::string_view text, int64_t column) : text_(text), column_(column) {}
  // The next record: true and `sentence`, or true and `bad` with a reason; false at the end.
  bool next(ConllSentence& sentence, BadRecord& bad);
  size_t bytes_read() const { return at_; }
  size_t columns() const { return columns_; }  // of the lines so far

 private:
  std::string_view text_;
  int64_t column_;
  size_t columns_ = 0;  // of each line
  size_t at_ = 0;
  int64_t line_ = 0;
  int64_t record_ = 0;
  int64_t document_ = 0;
};

}  // namespace longformer::io
