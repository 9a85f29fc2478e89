// Relevance judgements ("QUERY 0 DOCUMENT GRADE" a line) and runs ("QUERY Q0 DOCUMENT RANK SCORE
// NAME") as trec_eval reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/datasets/bad_record.h"

namespace longformer::io {

struct TrecEntry {
  int64_t line = 0;  // from 1
  std::string query;
  std::string document;
  double value = 0;  // grade, a whole number; or score. The rank is not used
};
struct TrecFile {
  std::vector<TrecEntry> entries;
  std::vector<BadRecord> bad;  // another number of columns, no number, a pair that stood before
};

enum class TrecKind { kJudgements, kRun };
TrecFile parse_trec(std::string_view text, TrecKind kind, const std::string& place);

}  // namespace longformer::io
