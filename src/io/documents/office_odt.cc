// OpenDocument text (ODF 1.2 part 1): content.xml.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "io/documents/office.h"
#include "io/documents/xml_stream.h"

namespace longformer::io {
namespace {

// Elements inside the body whose text is not that of the document.
constexpr std::array<std::string_view, 15> kSkipped = {"alphabetical-index",
                                                       "annotation",
                                                       "covered-table-cell",
                                                       "desc",
                                                       "event-listeners",
                                                       "forms",
                                                       "illustration-index",
                                                       "note-citation",
                                                       "object-index",
                                                       "ruby-text",
                                                       "scripts",
                                                       "table-index",
                                                       "table-of-content",
                                                       "title",
                                                       "tracked-changes"};

class Body {
 public:
  void begin(const XmlTag& tag) {
    const std::string_view name = tag.name;
    if (name == "body") {
      in_body_ = true;
    } else if (!in_body_) {
      return;
    } else if (skipped_ > 0 || is_skipped(name)) {
      ++skipped_;
    } else if (name == "h") {
      begin_paragraph(level_of(tag["outline-level"]));
    } else if (name == "p") {
      begin_paragraph(0);
    } else if (name == "s" || name == "tab") {
      add(" ");
    } else if (name == "line-break") {
      in_title() ? add(" ") : builder().break_line();
    } else if (name == "note-body") {
      notes_.emplace_back();
    } else {
      begin_block(name);
    }
  }

  void end(std::string_view name) {
    if (name == "body") {
      in_body_ = false;
    } else if (!in_body_) {
      return;
    } else if (skipped_ > 0) {
      --skipped_;
    } else if (name == "h" || name == "p") {
      end_paragraph();
    } else if (name == "note-body") {
      end_note();
    } else {
      end_block(name);
    }
  }

  void text(std::string_view text) {
    if (in_body_ && skipped_ == 0 && paragraphs() > 0) add(text);
  }

  MarkedText finish() { return body_.builder.finish(); }

 private:
  // The document, or a note that is being read.
  struct Flow {
    DocumentBuilder builder;
    std::vector<bool> paragraphs;  // that are open, text boxes inside each other; true: a heading
    int lists = 0;
    std::vector<std::string> notes;  // of the open paragraphs
  };
  Flow& flow() { return notes_.empty() ? body_ : notes_.back(); }
  DocumentBuilder& builder() { return flow().builder; }
  size_t paragraphs() { return flow().paragraphs.size(); }
  bool in_title() { return builder().in_heading(); }
  void add(std::string_view text) { builder().add_text(text); }

  static bool is_skipped(std::string_view name) noexcept {
    return std::binary_search(kSkipped.begin(), kSkipped.end(), name);
  }
  static int level_of(std::string_view text) noexcept {
    return text.size() == 1 && text[0] >= '1' && text[0] <= '9' ? text[0] - '0' : 1;
  }

  void begin_paragraph(int level) {
    Flow& in = flow();
    in.builder.break_paragraph();
    const bool titled = level > 0 && !in.builder.in_heading();
    if (titled) in.builder.begin_heading(level, {});
    in.paragraphs.push_back(titled);
  }

  void end_paragraph() {
    Flow& in = flow();
    if (in.paragraphs.empty()) return;
    if (in.paragraphs.back()) in.builder.end_heading();
    in.paragraphs.pop_back();
    in.builder.break_paragraph();
    if (!in.paragraphs.empty()) return;
    for (const std::string& note : std::exchange(in.notes, {})) {
      in.builder.break_paragraph();
      in.builder.add_text(note);
      in.builder.break_paragraph();
    }
  }

  void end_note() {
    if (notes_.empty()) return;
    std::string text = notes_.back().builder.finish().text;
    notes_.pop_back();
    if (!text.empty()) flow().notes.push_back(std::move(text));
  }

  void begin_block(std::string_view name) {
    if (name == "list") {
      flow().lists++ == 0 ? builder().break_paragraph() : break_inner_list();
    } else if (name == "list-item" || name == "list-header") {
      builder().begin_item();
    } else if (name == "table") {
      builder().break_paragraph();
    } else if (name == "table-row") {
      builder().begin_row();
    } else if (name == "table-cell") {
      builder().begin_cell();
    }
  }

  void end_block(std::string_view name) {
    if (name == "list") {
      flow().lists = std::max(0, flow().lists - 1);
      flow().lists == 0 ? builder().break_paragraph() : break_inner_list();
    } else if (name == "list-item" || name == "list-header") {
      builder().end_item();
    } else if (name == "table") {
      builder().break_paragraph();
    } else if (name == "table-row") {
      builder().break_line();
    } else if (name == "table-cell") {
      builder().end_cell();
    }
  }

  void break_inner_list() {
    builder().break_line();
    builder().tighten();
  }

  Flow body_;
  std::vector<Flow> notes_;
  bool in_body_ = false;
  int skipped_ = 0;  // elements open from the skipped one on
};

}  // namespace

MarkedText read_odt(const OfficeArchive& archive) {
  Body body;
  const XmlEvents events = {[&](const XmlTag& tag) { body.begin(tag); },
                            [&](std::string_view name) { body.end(name); },
                            [&](std::string_view text) { body.text(text); }};
  parse_xml(archive.open("content.xml"), events);
  return body.finish();
}

}  // namespace longformer::io
