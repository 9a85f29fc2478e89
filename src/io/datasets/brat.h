// Standoff annotations of brat: beside the text, the spans that were marked in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/datasets/bad_record.h"

namespace longformer::io {

struct MarkedSpan {
  int64_t line = 0;  // from 1, where the file of annotations has it
  double begin = 0;  // code points of the text, half-open; as the file says, unchecked
  double end = 0;
  std::string label;
  std::string text;  // what stands there, where the file says it; line ends may be spaces
};
struct BratFile {
  std::vector<MarkedSpan> spans;  // T lines
  std::vector<BadRecord> bad;     // T lines that break the format, or mark several places
};

// "T1<tab>LABEL BEGIN END<tab>TEXT". Other lines (relations, events, attributes, notes) are passed
// over.
BratFile parse_brat(std::string_view text, const std::string& place);

}  // namespace longformer::io
