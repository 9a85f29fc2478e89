// Headings of Markdown. Its text stays as it is. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/documents/documents.h"

namespace longformer::io {

// Finds ATX ("## Title") and setext (a title over "====" or "----") headings outside fenced and
// indented code, comments and the front matter. Fed with the parts of a document one after the
// other: what is open at the end of one goes on in the next.
class MarkdownHeadings {
 public:
  // By byte of this part. Headings of earlier parts that still hold stand first, at byte -1.
  std::vector<Heading> scan(std::string_view part);

 private:
  void scan_line(std::string_view text, size_t begin, size_t end, std::vector<Heading>& found);
  bool skip_block(std::string_view trimmed);
  void add(std::string_view text, size_t begin, size_t end, int level, std::vector<Heading>& found);

  std::vector<Heading> open_;  // the path at the end of the last part
  bool begun_ = false;
  bool comment_ = false;
  char fence_ = '\0';
  size_t fence_size_ = 0;
  size_t paragraph_ = std::string_view::npos;  // begin of the paragraph that this line may continue
};

}  // namespace longformer::io
