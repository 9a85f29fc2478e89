#include "base/limits.h"
#include "io/document_testing.h"

namespace longformer::io {
namespace {

using Lines = std::vector<std::string>;

Citation cite_words(const Document& document, const std::string& words) {
  const auto begin = static_cast<int64_t>(document.text.find(words));
  return cite(document, begin, begin + static_cast<int64_t>(words.size()));
}

TEST(Cite, NamesThePathOfHeadings) {
  Document document;
  document.text = "intro\n# A\na\n### B\nb\n## C\nc\n";
  document.headings = {{8, 1, "A", "a"}, {16, 3, "B", ""}, {23, 2, "C", ""}};
  EXPECT_EQ(cite_words(document, "intro").headings, Lines{});
  EXPECT_EQ(cite_words(document, "a\n###").headings, Lines{"A"});
  EXPECT_EQ(cite_words(document, "b\n").headings, (Lines{"A", "B"}));
  EXPECT_EQ(cite_words(document, "c\n").headings, (Lines{"A", "C"}));
  EXPECT_EQ(cite_words(document, "c\n").anchor, "a");  // of the innermost that has one
  // A range that begins with the marks of a heading, or blank before it, begins with the heading.
  EXPECT_EQ(cite_words(document, "\n### B\nb").headings, (Lines{"A", "B"}));
  EXPECT_EQ(cite_words(document, "## C").headings, (Lines{"A", "C"}));
  EXPECT_FALSE(cite_words(document, "c\n").page_start.has_value());
}

TEST(Cite, NamesHeadingsOfEarlierParts) {
  Document document;
  document.text = "text\n";
  document.headings = {{-1, 1, "Book", ""}, {-1, 2, "Chapter", ""}};
  EXPECT_EQ(cite(document, 0, 4).headings, (Lines{"Book", "Chapter"}));
}

TEST(Cite, NamesPages) {
  Document document;
  document.text = "first\n\nsecond\n\nfourth";
  document.pages = {{0, 1}, {7, 2}, {15, 4}};
  const auto pages = [&](const std::string& words) {
    const Citation citation = cite_words(document, words);
    return std::to_string(citation.page_start.value_or(0)) + "-" +
           std::to_string(citation.page_end.value_or(0));
  };
  EXPECT_EQ(pages("first"), "1-1");
  EXPECT_EQ(pages("first\n\n"), "1-1");
  EXPECT_EQ(pages("\n\nsecond"), "2-2");
  EXPECT_EQ(pages("rst\n\nsec"), "1-2");
  EXPECT_EQ(pages("second\n\nfourth"), "2-4");
}

TEST(Cite, TakesAnyRange) {
  Document document;
  document.text = "  ";
  document.pages = {{0, 1}};
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 0}, {2, 2}, {-5, 100}, {2, 1}}) {
    EXPECT_EQ(cite(document, begin, end).page_start, 1);
  }
  EXPECT_FALSE(cite({}, 0, 0).page_start.has_value());
}

TEST(DocumentKind, NamesAreFixed) {
  EXPECT_EQ(document_kind_name(DocumentKind::kText), "text");
  EXPECT_EQ(document_kind_name(DocumentKind::kMarkdown), "markdown");
  EXPECT_EQ(document_kind_name(DocumentKind::kHtml), "html");
  EXPECT_EQ(document_kind_name(DocumentKind::kPdf), "pdf");
  EXPECT_EQ(document_kind_name(DocumentKind::kDocx), "docx");
  EXPECT_EQ(document_kind_name(DocumentKind::kOdt), "odt");
  EXPECT_EQ(document_kind_name(DocumentKind::kConverted), "converted");
}

}  // namespace
}  // namespace longformer::io
