#include "io/documents/markdown.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "io/documents/document_builder.h"

namespace longformer::io {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) noexcept {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == kNone) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Columns of white space in front; a tab counts as four.
size_t indentation(std::string_view line) noexcept {
  size_t columns = 0;
  for (const char c : line) {
    if (c != ' ' && c != '\t') break;
    columns += c == '\t' ? 4 : 1;
  }
  return columns;
}

size_t run_length(std::string_view line, char c) noexcept {
  return std::min(line.find_first_not_of(c), line.size());
}

// Level of a line of "=" or "-" below a title, else 0.
int underline_level(std::string_view trimmed) noexcept {
  for (const char c : {'=', '-'}) {
    if (!trimmed.empty() && run_length(trimmed, c) == trimmed.size()) return c == '=' ? 1 : 2;
  }
  return 0;
}

int atx_level(std::string_view trimmed) noexcept {
  const size_t level = run_length(trimmed, '#');
  if (level < 1 || level > 6) return 0;
  const bool ends = level == trimmed.size() || trimmed[level] == ' ' || trimmed[level] == '\t';
  return ends ? static_cast<int>(level) : 0;
}

// Lists, quotations, tables and thematic breaks begin no title.
bool begins_paragraph(std::string_view trimmed) noexcept {
  if (trimmed.empty() || trimmed[0] == '>' || trimmed[0] == '|' || trimmed[0] == '<') return false;
  const std::string_view behind_digits =
      trimmed.substr(std::min(trimmed.find_first_not_of("0123456789"), trimmed.size()));
  const bool bullet = std::string_view("-+*").find(trimmed[0]) != kNone &&
                      (trimmed.size() == 1 || trimmed[1] == ' ' || trimmed[1] == '\t');
  const bool number = behind_digits.size() < trimmed.size() && behind_digits.size() > 1 &&
                      (behind_digits[0] == '.' || behind_digits[0] == ')') &&
                      behind_digits[1] == ' ';
  return !bullet && !number;
}

// Takes "{#name}" from the end of a title.
std::string take_anchor(std::string_view& title) {
  if (!title.ends_with('}')) return {};
  const size_t brace = title.rfind("{#");
  if (brace == kNone) return {};
  std::string anchor(title.substr(brace + 2, title.size() - brace - 3));
  if (anchor.empty() || anchor.size() > kMaxTitleBytes || anchor.find_first_of(" {}\n") != kNone) {
    return {};
  }
  title = trim(title.substr(0, brace));
  return anchor;
}

// Size of the block between two lines "---" at the beginning of a document, without the last line
// feed: settings of the program that publishes it. A first line that none closes is a rule.
size_t front_matter_size(std::string_view text) noexcept {
  constexpr size_t kLongest = 64 << 10;
  text = text.substr(0, kLongest);
  size_t begin = 0;
  for (bool first = true; begin < text.size(); first = false) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool mark = line.starts_with("---") && trim(line) == "---";
    if (first && !mark) return 0;
    if (!first && (mark || trim(line) == "...")) return end;
    begin = end + 1;
  }
  return 0;
}

}  // namespace

// Lines that are no text of the document's flow.
bool MarkdownHeadings::skip_block(std::string_view trimmed) {
  if (comment_) {
    if (trimmed.find("-->") != kNone) comment_ = false;
    return true;
  }
  if (fence_ != '\0') {
    const size_t size = run_length(trimmed, fence_);
    if (size >= fence_size_ && size == trimmed.size()) fence_ = '\0';
    return true;
  }
  for (const char c : {'`', '~'}) {
    const size_t size = run_length(trimmed, c);
    // `code` in a line of text is no fence.
    if (size < 3 || (c == '`' && trimmed.find('`', size) != kNone)) continue;
    fence_ = c;
    fence_size_ = size;
    return true;
  }
  if (trimmed.starts_with("<!--")) {
    comment_ = trimmed.find("-->") == kNone;
    return true;
  }
  return false;
}

void MarkdownHeadings::add(std::string_view text, size_t begin, size_t end, int level,
                           std::vector<Heading>& found) {
  std::string_view title = trim(text.substr(begin, end - begin));
  if (title.empty()) return;
  Heading heading;
  heading.byte = static_cast<int64_t>(title.data() - text.data());
  heading.level = level;
  heading.anchor = take_anchor(title);
  heading.title = cut_title(title);
  if (!heading.title.empty()) found.push_back(std::move(heading));
}

void MarkdownHeadings::scan_line(std::string_view text, size_t begin, size_t end,
                                 std::vector<Heading>& found) {
  const std::string_view line = text.substr(begin, end - begin);
  const std::string_view trimmed = trim(line);
  const size_t paragraph = std::exchange(paragraph_, kNone);
  if (skip_block(trimmed)) return;
  if (indentation(line) > 3) {
    paragraph_ = paragraph;  // goes on, or is code
    return;
  }
  if (const int level = atx_level(trimmed); level != 0) {
    const size_t words =
        static_cast<size_t>(trimmed.data() - text.data()) + static_cast<size_t>(level);
    std::string_view title = trim(text.substr(words, end - words));
    const size_t last = title.find_last_not_of('#');
    // "## Title ##" is closed; "# C#" is not.
    if (last == kNone) return;
    if (last + 1 < title.size() && kBlanks.find(title[last]) != kNone)
      title = title.substr(0, last);
    if (title.empty()) return;
    const size_t first = static_cast<size_t>(title.data() - text.data());
    add(text, first, first + title.size(), level, found);
    return;
  }
  if (paragraph != kNone) {
    const int level = underline_level(trimmed);
    if (level != 0) return add(text, paragraph, begin, level, found);
    if (!trimmed.empty()) paragraph_ = paragraph;
  } else if (begins_paragraph(trimmed) && underline_level(trimmed) == 0) {
    paragraph_ = begin;
  }
}

std::vector<Heading> MarkdownHeadings::scan(std::string_view part) {
  std::vector<Heading> found = open_;
  for (Heading& heading : found) heading.byte = -1;
  paragraph_ = kNone;
  size_t begin = std::exchange(begun_, true) ? 0 : front_matter_size(part);
  while (begin < part.size()) {
    const size_t end = std::min(part.find('\n', begin), part.size());
    scan_line(part, begin, end, found);
    begin = end + 1;
  }
  open_.clear();
  for (auto heading = found.rbegin(); heading != found.rend(); ++heading) {
    if (open_.empty() || heading->level < open_.back().level) open_.push_back(*heading);
  }
  std::reverse(open_.begin(), open_.end());
  if (found.size() > kMaxHeadings) found.clear();
  return found;
}

}  // namespace longformer::io
