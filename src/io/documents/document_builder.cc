#include "io/documents/document_builder.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace longformer::io {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f";
constexpr std::string_view kCellSeparator = " | ";

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

}  // namespace

std::string cut_title(std::string_view title) {
  std::string result;
  for (size_t at = 0; at < title.size();) {
    const size_t word = title.find_first_not_of(kBlanks, at);
    if (word == std::string_view::npos) break;
    at = std::min(title.find_first_of(kBlanks, word), title.size());
    if (!result.empty()) result += ' ';
    result += title.substr(word, std::min(at - word, kMaxTitleBytes + 1));
    if (result.size() > kMaxTitleBytes) {
      size_t end = kMaxTitleBytes;
      while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0) == 0x80) --end;
      return result.substr(0, end) + "\u2026";
    }
  }
  return result;
}

void DocumentBuilder::request(Break wanted) {
  if (state_.fresh && wanted != Break::kSpace) return;
  state_.pending = std::max(state_.pending, wanted);
}

// What stands between the text so far and the next.
void DocumentBuilder::separate() {
  std::string& text = result_.text;
  if (state_.cell) {
    text += kCellSeparator;
  } else if (!text.empty()) {
    if (state_.pending == Break::kSpace && !is_blank(text.back())) text += ' ';
    if (state_.pending >= Break::kLine && !text.ends_with('\n')) text += '\n';
    if (state_.pending == Break::kParagraph && !text.ends_with("\n\n")) text += '\n';
  }
  state_.pending = Break::kNone;
  state_.cell = false;
  state_.fresh = false;
  state_.row_has_text = true;
  if (state_.heading && !std::exchange(state_.heading_placed, true)) {
    state_.heading->byte = static_cast<int64_t>(text.size());
  }
}

void DocumentBuilder::add_text(std::string_view utf8) {
  for (size_t at = 0; at < utf8.size();) {
    const size_t begin = at;
    while (at < utf8.size() && is_blank(utf8[at])) ++at;
    if (at != begin) request(Break::kSpace);
    const size_t word = at;
    while (at < utf8.size() && !is_blank(utf8[at])) ++at;
    if (at == word) break;
    separate();
    result_.text += utf8.substr(word, at - word);
  }
}

void DocumentBuilder::add_preformatted(std::string_view utf8) {
  if (utf8.empty()) return;
  separate();
  result_.text += utf8;
}

void DocumentBuilder::break_line() { request(Break::kLine); }
void DocumentBuilder::break_paragraph() { request(Break::kParagraph); }

void DocumentBuilder::begin_item() {
  request(Break::kLine);
  state_.fresh = true;
}

void DocumentBuilder::end_item() {
  state_.fresh = false;
  tighten();
}

void DocumentBuilder::tighten() { state_.pending = std::min(state_.pending, Break::kLine); }

void DocumentBuilder::begin_row() {
  request(Break::kLine);
  state_.row_has_text = false;
}

void DocumentBuilder::begin_cell() {
  if (state_.row_has_text) {
    state_.cell = true;
    state_.pending = Break::kNone;
  }
  state_.fresh = true;
}

void DocumentBuilder::end_cell() {
  state_.fresh = false;
  state_.cell = false;
  tighten();
}

void DocumentBuilder::begin_heading(int level, std::string_view anchor) {
  state_.heading.emplace();
  state_.heading->level = std::clamp(level, 1, 6);
  state_.heading_placed = false;
  set_heading_anchor(anchor);
}

void DocumentBuilder::set_heading_anchor(std::string_view anchor) {
  if (state_.heading->anchor.empty() && anchor.size() <= kMaxTitleBytes) {
    state_.heading->anchor = anchor;
  }
}

void DocumentBuilder::end_heading() {
  Heading heading = *std::exchange(state_.heading, std::nullopt);
  if (!state_.heading_placed) return;
  heading.title = cut_title(text().substr(static_cast<size_t>(heading.byte)));
  if (heading.title.empty() || too_many_headings_) return;
  result_.headings.push_back(std::move(heading));
  if (result_.headings.size() > kMaxHeadings) {
    too_many_headings_ = true;
    result_.headings = {};
  }
}

DocumentBuilder::Mark DocumentBuilder::mark() const { return {result_.text.size(), state_}; }

void DocumentBuilder::rollback(const Mark& mark) {
  result_.text.resize(mark.size);
  state_ = mark.state;
}

MarkedText DocumentBuilder::finish() { return std::move(result_); }

}  // namespace longformer::io
