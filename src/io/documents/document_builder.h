// Plain text with marks, made from structured documents: HTML, DOCX, ODT. White space is collapsed,
// paragraphs stand apart by a blank line, list items and table rows on lines of their own, cells of
// a row apart by " | ". Internal to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents/documents.h"

namespace longformer::io {

// What a reader of a format gives: Document without what the caller knows.
struct MarkedText {
  std::string text;
  std::vector<Heading> headings;
  std::vector<Page> pages;
  bool replaced = false;
};

// Titles are cut, anchors left out, beyond some hundred bytes: they are repeated in every result.
constexpr size_t kMaxTitleBytes = 256;
std::string cut_title(std::string_view title);

class DocumentBuilder {
 public:
  void add_text(std::string_view utf8);          // white space counts as one space
  void add_preformatted(std::string_view utf8);  // kept as it is
  void break_line();                             // the next text begins a line
  void break_paragraph();                        // …behind a blank line
  void tighten();                                // …without a blank line after all
  // Breaks directly behind the beginning of an item or cell, and at the end of an item or cell more
  // than a line feed, mean nothing: "<li><p>text</p></li>" is one line.
  void begin_item();
  void end_item();
  void begin_row();
  void begin_cell();
  void end_cell();
  // Text up to end_heading() is the title.
  void begin_heading(int level, std::string_view anchor);
  void set_heading_anchor(std::string_view anchor);  // unless it has one
  void end_heading();
  bool in_heading() const noexcept { return state_.heading.has_value(); }

  std::string_view text() const noexcept { return result_.text; }
  // Takes back what was added since mark(). No heading may have ended between the two.
  struct Mark;
  Mark mark() const;
  void rollback(const Mark& mark);

  MarkedText finish();

 private:
  enum class Break { kNone, kSpace, kLine, kParagraph };
  struct State {
    Break pending = Break::kNone;
    bool fresh = false;  // nothing yet since an item or cell began
    bool row_has_text = false;
    bool cell = false;            // the next text begins a cell that is not the first of its row
    bool heading_placed = false;  // the byte of the heading is known
    std::optional<Heading> heading;
  };
  void request(Break wanted);
  void separate();

  MarkedText result_;
  State state_;
  bool too_many_headings_ = false;
};

struct DocumentBuilder::Mark {
  size_t size;
  State state;
};

}  // namespace longformer::io
