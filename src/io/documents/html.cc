#include "io/documents/html.h"

#include <libxml/HTMLparser.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "io/documents/html_elements.h"
#include "io/documents/libxml.h"
#include "io/documents/text_charset.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

enum class Navigation { kDropped, kKept };

// Takes the parser's events. The parser closes what a page leaves open, so that beginnings and ends
// match.
class Reader {
 public:
  explicit Reader(Navigation navigation) : navigation_(navigation) {}

  void begin(const HtmlTag& tag) {
    const HtmlElement element = html_element(tag.name);
    silence_.push_back(now_);
    if (silence_.size() > kMaxMarkupDepth) {
      throw Error(
          ErrorCode::kInvalidFile,
          "HTML with more than " + std::to_string(kMaxMarkupDepth) + " elements inside each other");
    }
    now_ = silence_inside(element, tag);
    if (now_ != Silence::kNone) return;
    begin_block(element);
    note_anchor(tag);
    if (element == HtmlElement::kHeading) begin_heading(tag);
    if (element == HtmlElement::kLink && builder_.in_heading() && tag.href.starts_with('#')) {
      link_ = builder_.mark();
    }
  }

  void end(std::string_view name) {
    if (silence_.empty()) return;  // never: the parser matches them
    const HtmlElement element = html_element(name);
    if (now_ == Silence::kNone) {
      if (element == HtmlElement::kLink) end_link();
      if (element == HtmlElement::kHeading) end_heading();
      end_block(element);
    }
    if (element == HtmlElement::kArticle) --articles_;
    if (name == "section") section_anchor_.clear();
    now_ = silence_.back();
    silence_.pop_back();
  }

  void text(std::string_view text) {
    if (now_ != Silence::kNone) return;
    if (preformatted_ == 0) return builder_.add_text(text);
    // The line feed behind <pre> belongs to the markup.
    if (std::exchange(pre_begins_, false) && text.starts_with('\n')) text.remove_prefix(1);
    builder_.add_preformatted(text);
  }

  MarkedText finish() { return builder_.finish(); }

 private:
  // Of a page's header only its first-level heading is read: often it is the title of the page.
  enum class Silence { kNone, kHeader, kAll };

  Silence silence_inside(HtmlElement element, const HtmlTag& tag) {
    if (element == HtmlElement::kArticle) ++articles_;
    if (now_ == Silence::kHeader && tag.name == "h1") return Silence::kNone;
    if (now_ != Silence::kNone) return now_;
    if (element == HtmlElement::kDropped || tag.hidden) return Silence::kAll;
    if (navigation_ == Navigation::kKept) return Silence::kNone;
    if (element == HtmlElement::kNavigation || tag.role == "navigation") return Silence::kAll;
    // Notes stand in <aside> too; an article has a header and a footer of its own.
    if (element == HtmlElement::kAside && tag.role != "doc-footnote") return Silence::kAll;
    if (element == HtmlElement::kFooter && articles_ == 0) return Silence::kAll;
    if (element == HtmlElement::kHeader && articles_ == 0) return Silence::kHeader;
    return Silence::kNone;
  }

  void begin_block(HtmlElement element) {
    switch (element) {
      case HtmlElement::kPreformatted:
        builder_.break_paragraph();
        ++preformatted_;
        pre_begins_ = true;
        break;
      case HtmlElement::kList:
        lists_++ == 0 ? builder_.break_paragraph() : break_inner_list();
        break;
      case HtmlElement::kItem:
        builder_.begin_item();
        break;
      case HtmlElement::kRow:
        builder_.begin_row();
        break;
      case HtmlElement::kCell:
        builder_.begin_cell();
        break;
      case HtmlElement::kLineBreak:
        preformatted_ == 0 ? builder_.break_line() : builder_.add_preformatted("\n");
        break;
      case HtmlElement::kLine:
        builder_.break_line();
        break;
      default:
        if (is_paragraph(element)) builder_.break_paragraph();
    }
  }

  void end_block(HtmlElement element) {
    switch (element) {
      case HtmlElement::kPreformatted:
        preformatted_ = std::max(0, preformatted_ - 1);
        builder_.break_paragraph();
        break;
      case HtmlElement::kList:
        lists_ = std::max(0, lists_ - 1);
        lists_ == 0 ? builder_.break_paragraph() : break_inner_list();
        break;
      case HtmlElement::kItem:
        builder_.end_item();
        break;
      case HtmlElement::kCell:
        builder_.end_cell();
        break;
      case HtmlElement::kRow:
      case HtmlElement::kLine:
        builder_.break_line();
        break;
      default:
        if (is_paragraph(element)) builder_.break_paragraph();
    }
  }

  void break_inner_list() {
    builder_.break_line();
    builder_.tighten();
  }

  static bool is_paragraph(HtmlElement element) noexcept {
    return element != HtmlElement::kInline && element != HtmlElement::kLink &&
           element != HtmlElement::kLineBreak;
  }

  // A heading without an id of its own is found by one inside it or directly in front of it, or by
  // that of its section.
  void note_anchor(const HtmlTag& tag) {
    if (tag.id.empty()) return;
    if (builder_.in_heading()) {
      builder_.set_heading_anchor(tag.id);
    } else {
      anchor_ = tag.id;
      anchor_place_ = builder_.text().size();
      if (tag.name == "section") section_anchor_ = tag.id;
    }
  }

  void begin_heading(const HtmlTag& tag) {
    if (headings_++ != 0) return;
    const bool in_front = anchor_place_ == builder_.text().size();
    builder_.begin_heading(tag.name[1] - '0',
                           in_front && !anchor_.empty() ? anchor_ : section_anchor_);
    anchor_.clear();
    section_anchor_.clear();
  }

  void end_heading() {
    if (--headings_ != 0) return;
    link_.reset();
    builder_.end_heading();
  }

  // Documentation generators put a link to the heading itself into it, shown as a sign.
  void end_link() {
    if (!link_) return;
    const std::string_view added = builder_.text().substr(link_->size);
    const size_t first = std::min(added.find_first_not_of(" \n"), added.size());
    constexpr std::array<std::string_view, 4> kSigns = {"\u00B6", "#", "\u00A7", "\U0001F517"};
    if (std::find(kSigns.begin(), kSigns.end(), added.substr(first)) != kSigns.end()) {
      builder_.rollback(*link_);
    }
    link_.reset();
  }

  const Navigation navigation_;
  DocumentBuilder builder_;
  std::vector<Silence> silence_;  // of the elements that are open: what held outside
  Silence now_ = Silence::kNone;
  int articles_ = 0;
  int lists_ = 0;
  int preformatted_ = 0;
  bool pre_begins_ = false;
  int headings_ = 0;
  std::string anchor_;
  size_t anchor_place_ = 0;
  std::string section_anchor_;  // of the open section, until its first heading
  std::optional<DocumentBuilder::Mark> link_;
};

// The parser with our reader behind it.
class Parser {
 public:
  explicit Parser(Navigation navigation) : reader_(navigation) {
    start_libxml();
    htmlSAXHandler handler{};  // without a place for messages: none are printed
    handler.startElement = on_begin;
    handler.endElement = on_end;
    handler.characters = on_text;
    handler.ignorableWhitespace = on_text;
    handler.cdataBlock = on_text;
    context_.reset(
        htmlCreatePushParserCtxt(&handler, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_UTF8));
    if (!context_) throw Error(ErrorCode::kInternal, "libxml2 cannot be started");
    htmlCtxtUseOptions(context_.get(), HTML_PARSE_RECOVER | HTML_PARSE_NONET | HTML_PARSE_NOERROR |
                                           HTML_PARSE_NOWARNING | HTML_PARSE_IGNORE_ENC);
  }

  MarkedText parse(std::string_view utf8) {
    WaitingTag waiting;
    for (size_t done = 0; done < utf8.size();) {
      size_t size = std::min(kXmlBlock, utf8.size() - done);
      while (done + size < utf8.size() && is_inside_character(utf8[done + size])) --size;
      htmlParseChunk(context_.get(), utf8.data() + done, static_cast<int>(size), 0);
      guard_.rethrow();
      done += size;
      waiting.look(*context_);
    }
    waiting.look_at_end(*context_);
    htmlParseChunk(context_.get(), nullptr, 0, 1);
    guard_.rethrow();
    return reader_.finish();
  }

 private:
  static bool is_inside_character(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  }

  template <typename Call>
  static void guard(void* self, Call call) noexcept {
    auto& parser = *static_cast<Parser*>(self);
    parser.guard_.run(parser.context_.get(), [&] { call(parser.reader_); });
  }

  static void on_begin(void* self, const xmlChar* name, const xmlChar** attributes) {
    guard(self, [&](Reader& reader) {
      HtmlTag tag;
      tag.name = view(name);
      for (; attributes != nullptr && attributes[0] != nullptr; attributes += 2) {
        set_attribute(tag, view(attributes[0]), view(attributes[1]));
      }
      reader.begin(tag);
    });
  }
  static void on_end(void* self, const xmlChar* name) {
    guard(self, [&](Reader& reader) { reader.end(view(name)); });
  }
  static void on_text(void* self, const xmlChar* text, int size) {
    guard(self, [&](Reader& reader) {
      reader.text({reinterpret_cast<const char*>(text), static_cast<size_t>(size)});
    });
  }

  struct Free {
    void operator()(htmlParserCtxtPtr context) const noexcept { htmlFreeParserCtxt(context); }
  };
  Reader reader_;
  XmlGuard guard_;
  std::unique_ptr<htmlParserCtxt, Free> context_;
};

DecodedText decode_html(std::string_view bytes) {
  const bool marked = utf16_of(bytes) || bytes.starts_with("\xEF\xBB\xBF");
  if (!marked) {
    if (auto decoded = decode_charset(bytes, declared_charset(bytes))) return std::move(*decoded);
  }
  return decode_text(bytes);
}

bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\f") == std::string_view::npos;
}

}  // namespace

MarkedText read_html(std::string_view bytes) {
  if (bytes.empty()) throw Error(ErrorCode::kInvalidFile, "empty");
  if (bytes.size() > kMaxMarkupBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "HTML of more than " + std::to_string(kMaxMarkupBytes) + " bytes");
  }
  const DecodedText decoded = decode_html(bytes);
  MarkedText result = Parser(Navigation::kDropped).parse(decoded.text);
  if (is_blank(result.text)) result = Parser(Navigation::kKept).parse(decoded.text);
  if (is_blank(result.text)) throw Error(ErrorCode::kInvalidFile, "HTML without text");
  result.replaced = decoded.replaced;
  return result;
}

}  // namespace longformer::io
