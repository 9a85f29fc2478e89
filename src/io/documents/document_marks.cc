// Names of kinds, and where in a document a range lies.
#include <algorithm>

#include "io/documents/documents.h"

namespace longformer::io {
namespace {

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

// The headings that hold at `byte`, innermost first. Each but the first is of a smaller level than
// the one before, so that there are at most six.
std::vector<const Heading*> open_headings(const std::vector<Heading>& headings, int64_t byte) {
  std::vector<const Heading*> open;
  auto next = std::upper_bound(headings.begin(), headings.end(), byte,
                               [](int64_t at, const Heading& h) { return at < h.byte; });
  while (next != headings.begin() && (open.empty() || open.back()->level > 1)) {
    --next;
    if (open.empty() || next->level < open.back()->level) open.push_back(&*next);
  }
  return open;
}

// Number of the page that holds `byte`.
std::optional<int64_t> page_at(const std::vector<Page>& pages, int64_t byte) {
  const auto next = std::upper_bound(pages.begin(), pages.end(), byte,
                                     [](int64_t at, const Page& page) { return at < page.byte; });
  if (next == pages.begin()) return std::nullopt;
  return std::prev(next)->number;
}

}  // namespace

std::string_view document_kind_name(DocumentKind kind) noexcept {
  switch (kind) {
    case DocumentKind::kText:
      return "text";
    case DocumentKind::kMarkdown:
      return "markdown";
    case DocumentKind::kHtml:
      return "html";
    case DocumentKind::kPdf:
      return "pdf";
    case DocumentKind::kDocx:
      return "docx";
    case DocumentKind::kOdt:
      return "odt";
    case DocumentKind::kConverted:
      return "converted";
  }
  return "text";
}

Citation cite(const Document& document, int64_t begin, int64_t end) {
  // Blank bytes belong to no page; a range that begins with the marks of a heading ("## ") begins
  // with that heading.
  const auto size = static_cast<int64_t>(document.text.size());
  const auto at = [&](int64_t i) { return document.text[static_cast<size_t>(i)]; };
  end = std::clamp<int64_t>(end, 0, size);
  begin = std::clamp<int64_t>(begin, 0, end);
  while (end > begin + 1 && is_blank(at(end - 1))) --end;
  while (begin + 1 < end && is_blank(at(begin))) ++begin;
  int64_t words = begin;
  while (words + 1 < end && (is_blank(at(words)) || at(words) == '#')) ++words;

  Citation citation;
  citation.page_start = page_at(document.pages, begin);
  citation.page_end = page_at(document.pages, std::max(begin, end - 1));
  const std::vector<const Heading*> open = open_headings(document.headings, words);
  for (auto heading = open.rbegin(); heading != open.rend(); ++heading) {
    citation.headings.push_back((*heading)->title);
  }
  for (const Heading* const heading : open) {
    if (!heading->anchor.empty()) {
      citation.anchor = heading->anchor;
      break;
    }
  }
  return citation;
}

}  // namespace longformer::io
