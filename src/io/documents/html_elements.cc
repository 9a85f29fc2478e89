#include "io/documents/html_elements.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "io/documents/html.h"

namespace longformer::io {
namespace {

struct Entry {
  std::string_view name;
  HtmlElement element;
};

using E = HtmlElement;

// By name. What is missing is part of a line.
constexpr std::array kElements = {
    Entry{"a", E::kLink},
    Entry{"address", E::kParagraph},
    Entry{"article", E::kArticle},
    Entry{"aside", E::kAside},
    Entry{"audio", E::kDropped},
    Entry{"blockquote", E::kParagraph},
    Entry{"body", E::kParagraph},
    Entry{"br", E::kLineBreak},
    Entry{"button", E::kDropped},
    Entry{"canvas", E::kDropped},
    Entry{"caption", E::kParagraph},
    Entry{"center", E::kParagraph},
    Entry{"dd", E::kLine},
    Entry{"details", E::kParagraph},
    Entry{"dialog", E::kParagraph},
    Entry{"div", E::kParagraph},
    Entry{"dl", E::kList},
    Entry{"dt", E::kLine},
    Entry{"fieldset", E::kParagraph},
    Entry{"figcaption", E::kParagraph},
    Entry{"figure", E::kParagraph},
    Entry{"footer", E::kFooter},
    Entry{"form", E::kParagraph},
    Entry{"h1", E::kHeading},
    Entry{"h2", E::kHeading},
    Entry{"h3", E::kHeading},
    Entry{"h4", E::kHeading},
    Entry{"h5", E::kHeading},
    Entry{"h6", E::kHeading},
    Entry{"header", E::kHeader},
    Entry{"hr", E::kParagraph},
    Entry{"iframe", E::kDropped},
    Entry{"legend", E::kLine},
    Entry{"li", E::kItem},
    Entry{"main", E::kArticle},
    Entry{"menu", E::kList},
    Entry{"nav", E::kNavigation},
    Entry{"noscript", E::kDropped},
    Entry{"object", E::kDropped},
    Entry{"ol", E::kList},
    Entry{"option", E::kLine},
    Entry{"p", E::kParagraph},
    Entry{"pre", E::kPreformatted},
    Entry{"script", E::kDropped},
    Entry{"section", E::kParagraph},
    Entry{"select", E::kDropped},
    Entry{"style", E::kDropped},
    Entry{"summary", E::kLine},
    Entry{"svg", E::kDropped},
    Entry{"table", E::kParagraph},
    Entry{"td", E::kCell},
    Entry{"template", E::kDropped},
    Entry{"textarea", E::kDropped},
    Entry{"th", E::kCell},
    Entry{"title", E::kDropped},
    Entry{"tr", E::kRow},
    Entry{"ul", E::kList},
    Entry{"video", E::kDropped},
};

constexpr bool is_sorted_by_name() {
  for (size_t i = 1; i < kElements.size(); ++i) {
    if (!(kElements[i - 1].name < kElements[i].name)) return false;
  }
  return true;
}
static_assert(is_sorted_by_name());

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Case does not count; `word` is in lower case.
size_t find_word(std::string_view text, std::string_view word, size_t from) noexcept {
  const auto found = std::search(
      text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), text.end(),
      word.begin(), word.end(), [](char a, char b) { return lower(a) == b; });
  return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

// What follows `key` and "=" in the text, in quotes or not.
std::string_view value_of(std::string_view text, std::string_view key) noexcept {
  constexpr std::string_view kSpaces = " \t\r\n";
  size_t at = find_word(text, key, 0);
  if (at == std::string_view::npos) return {};
  at = text.find_first_not_of(kSpaces, at + key.size());
  if (at == std::string_view::npos || text[at] != '=') return {};
  at = text.find_first_not_of(" \t\r\n\"'", at + 1);
  if (at == std::string_view::npos) return {};
  return text.substr(at, std::min(text.find_first_of(" \t\r\n\"';>/?", at), text.size()) - at);
}

}  // namespace

HtmlElement html_element(std::string_view lower_case_name) noexcept {
  const auto found =
      std::lower_bound(kElements.begin(), kElements.end(), lower_case_name,
                       [](const Entry& entry, std::string_view name) { return entry.name < name; });
  return found != kElements.end() && found->name == lower_case_name ? found->element : E::kInline;
}

void set_attribute(HtmlTag& tag, std::string_view name, std::string_view value) noexcept {
  if (name == "id" || (name == "name" && tag.name == "a" && tag.id.empty())) {
    tag.id = value;
  } else if (name == "role") {
    tag.role = value;
  } else if (name == "href") {
    tag.href = value;
  } else if (name == "hidden") {
    tag.hidden = true;
  }
}

size_t count_attributes(std::string_view bytes) noexcept {
  size_t count = 0;
  char quote = '\0';
  bool in_name = true;      // the tag's own name first
  bool value_next = false;  // behind "="
  for (const char c : bytes.substr(bytes.empty() ? 0 : 1)) {
    if (quote != '\0') {
      if (c != quote) continue;
      quote = '\0';
      in_name = false;
    } else if (c == '>') {
      break;
    } else if (value_next && (c == '"' || c == '\'')) {
      quote = c;
      value_next = false;
    } else if (c == '=') {
      value_next = true;
    } else if (is_space(c)) {
      in_name = false;
    } else {
      if (!in_name && !value_next) ++count;
      in_name = true;
      value_next = false;
    }
  }
  return count;
}

std::string_view declared_charset(std::string_view head) {
  head = head.substr(0, 4096);
  if (head.starts_with("<?xml")) {
    const std::string_view declaration = head.substr(0, std::min(head.find("?>"), head.size()));
    const std::string_view encoding = value_of(declaration, "encoding");
    if (!encoding.empty()) return encoding;
  }
  for (size_t at = find_word(head, "<meta", 0); at != std::string_view::npos;
       at = find_word(head, "<meta", at + 1)) {
    const std::string_view tag = head.substr(at, std::min(head.find('>', at), head.size()) - at);
    const std::string_view charset = value_of(tag, "charset");
    if (!charset.empty()) return charset;
  }
  return {};
}

}  // namespace longformer::io
