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
  std::vector<std::string> words;  // column 0
  std::vector<std::string> tags;
};
struct ConllFile {
  std::vector<ConllSentence> sentences;
  std::vector<BadRecord> bad;  // sentences with a line that lacks the column or is not UTF-8
};

// `column`: from 0, or from the end: -1 is the last one. Columns are parted by tabs where the line
// has one, else by spaces. Lines that begin with -DOCSTART- part sentences and hold no token.
// Nothing is a comment.
ConllFile parse_conll(std::string_view text, int64_t column, const std::string& place);

}  // namespace longformer::io
