// Tagged texts as the files have them: words with a tag each, or a text with spans.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/datasets/brat.h"
#include "train/data/tag_data.h"

namespace longformer::train {

struct TagRecord {
  std::string place;
  std::string group;               // what a split keeps together
  std::string fault;               // not empty: it cannot be used
  std::vector<std::string> words;  // with tags, or else a text with spans
  std::vector<std::string> tags;
  std::string text;
  std::vector<io::MarkedSpan> spans;  // line: 0 where the record's place says it all
  std::vector<io::BadRecord> bad_spans;
  std::string spans_place;  // of the lines of spans
  bool has_spans() const { return words.empty(); }
};

// The .ann files beside .txt files, which are data too.
std::vector<std::string> with_annotations(const std::vector<std::string>& paths);

// All records of the files in order, one in memory at a time. Throws kInvalidArgument where a split
// asks for a field that columns do not have.
void visit_tag_records(const std::vector<std::string>& paths, const Split& split,
                       const TagDataOptions& how,
                       const std::function<void(TagRecord& record)>& visit);

}  // namespace longformer::train
