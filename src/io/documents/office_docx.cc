// WordprocessingML (ECMA-376 part 1, 17): word/document.xml with the styles and notes beside it.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "io/documents/office.h"
#include "io/documents/xml_stream.h"

namespace longformer::io {
namespace {

constexpr int kNoHeading = 0;
constexpr int kContents = -1;  // a line of a table of contents

// "0" to "8" are the levels 1 to 9, "9" is body text.
int level_of_outline(std::string_view text) noexcept {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '8' ? text[0] - '0' + 1 : kNoHeading;
}

// Level of a style, by its name in the file: programs translate only what they show.
std::optional<int> level_of_name(std::string_view name) {
  std::string lower(name.substr(0, 32));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower.starts_with("toc ")) return kContents;
  if (lower.size() == 9 && lower.starts_with("heading ") && lower[8] >= '1' && lower[8] <= '9') {
    return lower[8] - '0';
  }
  return std::nullopt;
}

class Styles {
 public:
  Styles(const OfficeArchive& archive, const std::string& part) {
    if (!archive.has(part)) return;
    XmlEvents events;
    Style* style = nullptr;
    events.begin = [&](const XmlTag& tag) {
      if (tag.name == "style") {
        style = &styles_[std::string(tag["styleId"])];
      } else if (style == nullptr) {
        return;
      } else if (tag.name == "name") {
        style->level = level_of_name(tag["val"]);
      } else if (tag.name == "basedOn") {
        style->based_on = tag["val"];
      } else if (tag.name == "outlineLvl" && !style->level) {
        style->level = level_of_outline(tag["val"]);
      }
    };
    events.end = [&](std::string_view name) {
      if (name == "style") style = nullptr;
    };
    parse_xml(archive.open(part), events);
  }

  int level(const std::string& id) const {
    constexpr int kLongestChain = 16;
    auto style = styles_.find(id);
    for (int i = 0; i < kLongestChain && style != styles_.end(); ++i) {
      if (style->second.level) return *style->second.level;
      style = styles_.find(style->second.based_on);
    }
    // A file without styles: the usual identifiers.
    if (styles_.empty() && id.size() == 8 && id.starts_with("Heading") && id[7] >= '1' &&
        id[7] <= '9') {
      return id[7] - '0';
    }
    return kNoHeading;
  }

 private:
  struct Style {
    std::optional<int> level;
    std::string based_on;
  };
  std::map<std::string, Style> styles_;
};

using Notes = std::map<std::string, std::string>;  // id -> text

// The text of paragraphs, of the document or of a note.
class Body {
 public:
  Body(const Styles& styles, const Notes& footnotes, const Notes& endnotes)
      : styles_(styles), footnotes_(footnotes), endnotes_(endnotes) {}

  void begin(const XmlTag& tag) {
    const std::string_view name = tag.name;
    if (is_skipped(name) || skipped_ > 0) {
      ++skipped_;
    } else if (name == "p") {
      begin_paragraph();
    } else if (name == "tr") {
      builder_.begin_row();
    } else if (name == "tc") {
      builder_.begin_cell();
    } else if (name == "tbl") {
      builder_.break_paragraph();
    } else if (!paragraphs_.empty()) {
      begin_inside_paragraph(tag);
    }
  }

  void end(std::string_view name) {
    if (skipped_ > 0) {
      --skipped_;
    } else if (name == "p") {
      end_paragraph();
    } else if (name == "t") {
      in_text_ = false;
    } else if (name == "tr") {
      builder_.break_line();
    } else if (name == "tc") {
      builder_.end_cell();
    } else if (name == "tbl") {
      builder_.break_paragraph();
    }
  }

  void text(std::string_view text) {
    if (in_text_ && skipped_ == 0 && !paragraphs_.empty()) add(text);
  }

  MarkedText finish() { return builder_.finish(); }

 private:
  struct Paragraph {
    int level = kNoHeading;
    bool item = false;    // of a list
    bool begun = false;   // its text has begun: the properties are known
    bool titled = false;  // it opened a heading
    std::vector<const std::string*> notes;
  };

  // What stood before a tracked change, and the second form of what is there already.
  static bool is_skipped(std::string_view name) noexcept {
    return name == "pPrChange" || name == "rPrChange" || name == "moveFrom" || name == "del" ||
           name == "Fallback";
  }

  // Paragraphs stand inside each other where a text box is anchored in one.
  void begin_paragraph() {
    if (!paragraphs_.empty()) builder_.break_paragraph();
    paragraphs_.emplace_back();
  }

  void begin_inside_paragraph(const XmlTag& tag) {
    Paragraph& paragraph = paragraphs_.back();
    const std::string_view name = tag.name;
    if (name == "t") {
      in_text_ = true;
    } else if (name == "pStyle") {
      paragraph.level = styles_.level(std::string(tag["val"]));
    } else if (name == "outlineLvl") {
      paragraph.level = level_of_outline(tag["val"]);
    } else if (name == "numPr") {
      paragraph.item = true;
    } else if (name == "tab" || name == "ptab") {
      add(" ");
    } else if (name == "br" || name == "cr") {
      paragraph.titled ? add(" ") : builder_.break_line();
    } else if (name == "noBreakHyphen") {
      add("-");
    } else if (name == "footnoteReference") {
      note(footnotes_, tag);
    } else if (name == "endnoteReference") {
      note(endnotes_, tag);
    }
  }

  void note(const Notes& notes, const XmlTag& tag) {
    const auto found = notes.find(std::string(tag["id"]));
    if (found != notes.end()) paragraphs_.back().notes.push_back(&found->second);
  }

  void add(std::string_view text) {
    Paragraph& paragraph = paragraphs_.back();
    if (paragraph.level == kContents) return;
    if (text.find_first_not_of(" \t\r\n") != std::string_view::npos &&
        !std::exchange(paragraph.begun, true)) {
      begin_text(paragraph);
    }
    builder_.add_text(text);
  }

  void begin_text(Paragraph& paragraph) {
    if (paragraph.level == kNoHeading) {
      const bool next_item = paragraph.item && last_was_item_;
      next_item ? builder_.break_line() : builder_.break_paragraph();
    } else if (!builder_.in_heading()) {
      builder_.break_paragraph();
      builder_.begin_heading(paragraph.level, {});
      paragraph.titled = true;
    }
    last_was_item_ = paragraph.item && paragraph.level == kNoHeading;
  }

  void end_paragraph() {
    if (paragraphs_.empty()) return;
    const Paragraph paragraph = std::move(paragraphs_.back());
    paragraphs_.pop_back();
    if (paragraph.titled) builder_.end_heading();
    if (paragraph.begun && !last_was_item_) builder_.break_paragraph();
    for (const std::string* const text : paragraph.notes) {
      builder_.break_paragraph();
      builder_.add_text(*text);
      builder_.break_paragraph();
      last_was_item_ = false;
    }
  }

  const Styles& styles_;
  const Notes& footnotes_;
  const Notes& endnotes_;
  DocumentBuilder builder_;
  std::vector<Paragraph> paragraphs_;
  bool in_text_ = false;
  bool last_was_item_ = false;
  int skipped_ = 0;  // elements open from the skipped one on
};

XmlEvents events_of(Body& body) {
  return {[&body](const XmlTag& tag) { body.begin(tag); },
          [&body](std::string_view name) { body.end(name); },
          [&body](std::string_view text) { body.text(text); }};
}

// `element` is "footnote" or "endnote".
Notes read_notes(const OfficeArchive& archive, const std::string& part, const Styles& styles,
                 std::string_view element) {
  Notes result;
  if (!archive.has(part)) return result;
  const Notes none;
  std::optional<Body> body;
  std::string id;
  XmlEvents events;
  events.begin = [&](const XmlTag& tag) {
    if (tag.name == element) {
      // Others are the lines between text and notes.
      const std::string_view type = tag["type"];
      id = tag["id"];
      if (type.empty() || type == "normal") body.emplace(styles, none, none);
    } else if (body) {
      body->begin(tag);
    }
  };
  events.end = [&](std::string_view name) {
    if (body && name != element) body->end(name);
    if (!body || name != element) return;
    if (std::string text = body->finish().text; !text.empty()) result[id] = std::move(text);
    body.reset();
  };
  events.text = [&](std::string_view text) {
    if (body) body->text(text);
  };
  parse_xml(archive.open(part), events);
  return result;
}

}  // namespace

MarkedText read_docx(const OfficeArchive& archive, const std::string& main_part) {
  const std::string folder = main_part.substr(0, main_part.rfind('/') + 1);
  const Styles styles(archive, folder + "styles.xml");
  const Notes footnotes = read_notes(archive, folder + "footnotes.xml", styles, "footnote");
  const Notes endnotes = read_notes(archive, folder + "endnotes.xml", styles, "endnote");
  Body body(styles, footnotes, endnotes);
  parse_xml(archive.open(main_part), events_of(body));
  return body.finish();
}

}  // namespace longformer::io
