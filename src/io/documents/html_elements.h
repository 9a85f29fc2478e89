// What the elements of HTML mean for plain text, and what a tag says before it is parsed. Internal
// to this folder.
#pragma once

#include <cstddef>
#include <string_view>

namespace longformer::io {

enum class HtmlElement {
  kInline,
  kParagraph,     // text of its own, apart from its neighbours
  kLine,          // on a line of its own
  kLineBreak,     // br
  kHeading,       // h1 to h6
  kPreformatted,  // pre
  kList,
  kItem,  // of a list
  kRow,
  kCell,
  kLink,
  kArticle,  // main, article: their header and footer belong to the content
  kDropped,  // shows no text, or none that belongs to the content
  kNavigation,
  kHeader,
  kFooter,
  kAside,
};
HtmlElement html_element(std::string_view lower_case_name) noexcept;

struct HtmlTag {
  std::string_view name;
  std::string_view id;  // or name of <a>
  std::string_view role;
  std::string_view href;
  bool hidden = false;
};
// Takes what is needed.
void set_attribute(HtmlTag& tag, std::string_view name, std::string_view value) noexcept;

// At least as many as a parser finds in the tag that `bytes` begin with.
size_t count_attributes(std::string_view bytes) noexcept;

}  // namespace longformer::io
