#include "io/documents/markdown.h"

#include "base/limits.h"
#include "io/document_testing.h"

namespace longformer::io {
namespace {

using Lines = std::vector<std::string>;

// "1 Title @ 3"
Lines scan(const std::string& text) {
  Lines lines;
  for (const Heading& heading : MarkdownHeadings().scan(text)) {
    lines.push_back(outline({heading})[0] + " @ " + std::to_string(heading.byte));
  }
  return lines;
}

TEST(Markdown, FindsAtxHeadings) {
  EXPECT_EQ(scan("# One\n\ntext\n## Two ##\n###### Six\n"),
            (Lines{"1 One @ 2", "2 Two @ 15", "6 Six @ 29"}));
  EXPECT_EQ(scan("   # Indented\r\n#\tTab\r\n# C#\n"),
            (Lines{"1 Indented @ 5", "1 Tab @ 17", "1 C# @ 24"}));
  EXPECT_EQ(scan("## Named {#the-name}\n"), Lines{"2 Named #the-name @ 3"});
  EXPECT_EQ(scan("#hash\n####### seven\n    # code\n\t# code\n#\n## ##\n\\# no\n- # item\n"),
            Lines{});
}

TEST(Markdown, FindsSetextHeadings) {
  EXPECT_EQ(scan("Title\n=====\n\nSub\n---\ntext\n"), (Lines{"1 Title @ 0", "2 Sub @ 13"}));
  EXPECT_EQ(scan("two\nlines\n==\n"), Lines{"1 two lines @ 0"});
  EXPECT_EQ(scan("- item\n---\n\n---\n\n> quoted\n---\n\n| a |\n---\n\n1. one\n---\n"), Lines{});
  EXPECT_EQ(scan("text\n\n===\n"), Lines{});
  EXPECT_EQ(scan("a | b\n--- | ---\n1 | 2\n"), Lines{});
  EXPECT_EQ(scan("1984 was\n---\n"), Lines{"2 1984 was @ 0"});
}

TEST(Markdown, SeesNoHeadingInCodeCommentsAndFrontMatter) {
  EXPECT_EQ(scan("```sh\n# comment\n```\n# A\n"), Lines{"1 A @ 22"});
  EXPECT_EQ(scan("~~~~\n# no\n~~~\n# no\n~~~~~\n# A\n"), Lines{"1 A @ 27"});
  EXPECT_EQ(scan("````\n```\n# no\n````\n# A\n"), Lines{"1 A @ 21"});
  EXPECT_EQ(scan("```not `a` fence\n# A\n"), Lines{"1 A @ 19"});
  EXPECT_EQ(scan("```\n# never closed\n"), Lines{});
  EXPECT_EQ(scan("<!-- # no\n# no\n-->\n# A\n"), Lines{"1 A @ 21"});
  EXPECT_EQ(scan("---\ntitle: x\n---\n# A\n"), Lines{"1 A @ 19"});
  EXPECT_EQ(scan("---\n# A\n"), Lines{"1 A @ 6"});
}

TEST(Markdown, GoesOnInTheNextPart) {
  MarkdownHeadings headings;
  EXPECT_EQ(outline(headings.scan("# A\n## B\n## C\n```\n")), (Lines{"1 A", "2 B", "2 C"}));
  const std::vector<Heading> second = headings.scan("# no\n```\n### D\n");
  EXPECT_EQ(outline(second), (Lines{"1 A", "2 C", "3 D"}));
  EXPECT_EQ(second[1].byte, -1);
  EXPECT_EQ(second[2].byte, 13);
  EXPECT_EQ(outline(headings.scan("# E\n")), (Lines{"1 A", "2 C", "3 D", "1 E"}));
  EXPECT_EQ(outline(headings.scan("text\n")), Lines{"1 E"});
}

TEST(Markdown, TooManyHeadingsAreNone) {
  std::string text = "# Top\n";
  for (size_t i = 0; i < kMaxHeadings; ++i) text += "## h\n";
  MarkdownHeadings headings;
  EXPECT_TRUE(headings.scan(text).empty());
  EXPECT_EQ(outline(headings.scan("x\n")), (Lines{"1 Top", "2 h"}));
}

}  // namespace
}  // namespace longformer::io
