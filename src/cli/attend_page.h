// One self-contained HTML page that shows where the tokens of a text look. It loads nothing and
// runs no script but its own, whatever the text says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/attend.h"
#include "text/tokenizer.h"

namespace longformer::cli {

// Bytes that a page stays below, as long as one link a token and view allows it.
inline constexpr size_t kPageBytes = 4'900'000;

struct AttendPage {
  std::string title;
  std::string summary;    // one line
  std::string_view text;  // what the tokens' offsets point into
  int64_t begin = 0;      // the part of it that is shown, bytes
  int64_t end = 0;
  const text::Encoding* tokens = nullptr;
  std::vector<std::string> spellings;  // of each token, by the vocabulary
  std::vector<uint8_t> global;         // 1 where a token is; may be empty
  std::vector<int64_t> lines;          // of each token, from 1
  const tasks::Attended* links = nullptr;
  bool self_links = true;     // whether the links hold them
  bool special_links = true;  // likewise
};

// "average of all layers and heads", "layer 3, head 5"
std::string view_name(const tasks::AttendView& view);

// Links of a token and direction that the page of this text has room for: at most top_k.
int64_t page_links(const AttendPage& page);
std::string attend_page(const AttendPage& page);

}  // namespace longformer::cli
