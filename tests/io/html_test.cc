#include "io/documents/html.h"

#include "base/limits.h"
#include "io/document_testing.h"
#include "io/documents/html_elements.h"
#include "io/documents/text_encoding.h"

namespace longformer::io {
namespace {

using Lines = std::vector<std::string>;

std::string text_of(const std::string& html) { return read_html(html).text; }

TEST(Html, KeepsParagraphsApartAndCollapsesWhiteSpace) {
  EXPECT_EQ(text_of("<html><body><p>One\n  two\t three</p><p>Four <b>five</b>.</p>six"
                    "<div>seven<div>eight</div></div></body></html>"),
            "One two three\n\nFour five.\n\nsix\n\nseven\n\neight");
  EXPECT_EQ(text_of("<p>a<br>b<br/>c</p>"), "a\nb\nc");
  EXPECT_EQ(text_of("<p>an<i>other</i> <i> word </i>\n.</p>"), "another word .");
}

TEST(Html, PutsItemsOnLinesOfTheirOwn) {
  EXPECT_EQ(text_of("<p>Before</p><ul><li>one</li><li><p>two</p></li><li><p>three</p><ul><li>inner"
                    "</li></ul></li></ul><p>After</p>"),
            "Before\n\none\ntwo\nthree\ninner\n\nAfter");
  EXPECT_EQ(text_of("<ul><li>unclosed<li>items</ul>x"), "unclosed\nitems\n\nx");
  EXPECT_EQ(text_of("<dl><dt>term<dd>meaning<dt>next<dd>its meaning</dl>"),
            "term\nmeaning\nnext\nits meaning");
  EXPECT_EQ(text_of("<ul><li></li></ul><p>a</p><ul><li></ul><p>b"), "a\n\nb");
}

TEST(Html, KeepsCellsApart) {
  EXPECT_EQ(text_of("<table><caption>Prices</caption><tr><th>name</th><th>price</th></tr>"
                    "<tr><td><p>tea</p></td><td> 3 </td><td></td></tr><tr><td></td><td>x</td>"
                    "</tr></table>end"),
            "Prices\n\nname | price\ntea | 3\nx\n\nend");
}

TEST(Html, KeepsPreformattedTextAsItIs) {
  EXPECT_EQ(text_of("<p>code:</p><pre>\n  if (a &lt; b)\n\n\treturn <b>c</b>;\n</pre><p>end</p>"),
            "code:\n\n  if (a < b)\n\n\treturn c;\n\nend");
  EXPECT_EQ(text_of("<pre>a<br>b</pre>"), "a\nb");
}

TEST(Html, DropsWhatIsNotContent) {
  const std::string page =
      "<html><head><title>T</title><style>p{}</style><script>var a='<p>no</p>';</script></head>"
      "<body><header>Banner <h1>Name of the page</h1></header><nav>menu</nav>"
      "<div role=navigation>more menu</div><p hidden>hidden</p><main><header>By me</header>"
      "<p>Content</p><noscript>turn it on</noscript><aside>advertisement</aside>"
      "<aside role=doc-footnote>a note</aside><footer>dated</footer></main>"
      "<button>press</button><svg><text>drawing</text></svg><footer>imprint</footer>"
      "<template>t</template></body></html>";
  const MarkedText result = read_html(page);
  EXPECT_EQ(result.text, "Name of the page\n\nBy me\n\nContent\n\na note\n\ndated");
  EXPECT_EQ(outline(result.headings), Lines{"1 Name of the page"});
}

TEST(Html, KeepsNavigationWhereNothingElseIs) {
  EXPECT_EQ(text_of("<body><nav>all <b>there</b> is</nav><script>x</script></body>"),
            "all there is");
  for (const char* const blank : {"<html></html>", "<p> </p>", "<script>x</script>", " "}) {
    expect_error(ErrorCode::kInvalidFile, {"without text"}, [&] { text_of(blank); });
  }
  expect_error(ErrorCode::kInvalidFile, {"empty"}, [] { text_of(""); });
}

TEST(Html, CollectsHeadingsWithAnchors) {
  const std::string page =
      "<h1 id=top>Manual</h1><section id=one><h2>First<a class=headerlink href='#one'>\u00B6</a>"
      "</h2>text</section><a name=old></a><h3>Old\n <i>style</i></h3>more <p id=p>text</p>"
      "<h2><a id=inner></a>Inner</h2><h6>None</h6><h2 id=r><a href='#r'>\u00A7</a>Front</h2>"
      "<h4></h4><section id=s><a>source</a><h4>Of a section</h4><h5>Not of it</h5></section>"
      "<section id=t>text</section><h5>Nor this</h5>";
  const MarkedText result = read_html(page);
  EXPECT_EQ(outline(result.headings),
            (Lines{"1 Manual #top", "2 First #one", "3 Old style #old", "2 Inner #inner", "6 None",
                   "2 Front #r", "4 Of a section #s", "5 Not of it", "5 Nor this"}));
  for (const Heading& heading : result.headings) {
    const std::string_view there =
        std::string_view(result.text)
            .substr(static_cast<size_t>(heading.byte), heading.title.size());
    EXPECT_EQ(there, heading.title);
  }
  EXPECT_EQ(result.text.find("\u00B6"), std::string::npos);
}

TEST(Html, TitlesAreCutAndTheirTextIsNot) {
  const std::string words(100'000, 'w');
  const MarkedText result = read_html("<h1 id=" + words + ">" + words + "</h1>");
  EXPECT_EQ(result.text, words);
  ASSERT_EQ(result.headings.size(), 1u);
  EXPECT_LT(result.headings[0].title.size(), 300u);
  EXPECT_EQ(result.headings[0].anchor, "");
}

TEST(Html, DecodesEntities) {
  EXPECT_EQ(text_of("<p>&lt;a&gt; &amp;amp; &eacute; &#233; &#xE9; &hellip; &nosuch; &#0; a & b"),
            "<a> &amp; \u00E9 \u00E9 \u00E9 \u2026 &nosuch; a & b");
}

TEST(Html, FindsTheEncoding) {
  EXPECT_EQ(text_of("<meta charset='utf-8'><p>\xC3\xA9"), "\u00E9");
  EXPECT_EQ(text_of("<meta http-equiv=Content-Type content='text/html; charset=ISO-8859-2'>"
                    "<p>\xB1\xE6</p>"),
            "\u0105\u0107");
  EXPECT_EQ(text_of("<META CHARSET=latin1><p>\x80\xE9"), "\u20AC\u00E9");
  EXPECT_EQ(text_of("<meta charset=shift_jis><p>\x93\xFA\x96\x7B"), "\u65E5\u672C");
  EXPECT_EQ(text_of("<?xml version='1.0' encoding='koi8-r'?><html><p>\xD7\xC9\xD2"),
            "\u0432\u0438\u0440");
  // A byte order mark wins; what is not known is guessed.
  EXPECT_EQ(text_of("\xEF\xBB\xBF<meta charset=iso-8859-2><p>\xC3\xA9"), "\u00E9");
  EXPECT_EQ(text_of("<meta charset=ISO-2022-CN-EXT><p>caf\xC3\xA9"), "caf\u00E9");
  const MarkedText guessed = read_html("<p>a long text with a caf\xE9");
  EXPECT_EQ(guessed.text, "a long text with a caf\u00E9");
  EXPECT_TRUE(guessed.replaced);
  std::string wide = "\xFF\xFE";
  for (const char c : std::string("<p>wide</p>")) wide += {c, '\0'};
  EXPECT_EQ(text_of(wide), "wide");
}

TEST(Html, DeclaredCharset) {
  EXPECT_EQ(declared_charset("<html><meta name=x><meta charset = \"a-b\" >"), "a-b");
  EXPECT_EQ(declared_charset("<meta content='text/html; charset=x; y'>"), "x");
  EXPECT_EQ(declared_charset("<p>charset=none</p>"), "");
  EXPECT_EQ(declared_charset("<meta charset"), "");
  EXPECT_EQ(declared_charset(std::string(5000, ' ') + "<meta charset=late>"), "");
}

TEST(Html, ReadsOneHugeTextNode) {
  std::string words;
  while (words.size() < (50u << 20)) words += "some words that are not the last ones ";
  words += "end";
  EXPECT_EQ(text_of("<html><body><p>" + words + "</p></body></html>"), words);
}

TEST(Html, RefusesDeepNesting) {
  std::string page;
  for (int i = 0; i < 100'000; ++i) page += "<div>";
  expect_error(ErrorCode::kInvalidFile, {"inside each other"}, [&] { text_of(page + "x"); });
  std::string good;
  for (size_t i = 0; i + 10 < kMaxMarkupDepth; ++i) good += "<div>";
  EXPECT_EQ(text_of(good + "x"), "x");
}

TEST(Html, RefusesTagsThatTakeTheParserTooLong) {
  std::string tag = "<p";
  for (int i = 0; i < 1'000'000; ++i) tag += " a" + std::to_string(i);
  for (const char* const end : {">text", "=", " b='>'>text", ""}) {
    expect_error(ErrorCode::kInvalidFile, {"attributes"}, [&] { text_of(tag + end); });
  }
  // One long attribute is no such tag, nor are many words in one.
  std::string value;
  for (int i = 0; i < 200'000; ++i) value += "word ";
  EXPECT_EQ(text_of("<p title='" + value + "' id=x>text"), "text");
  EXPECT_EQ(text_of("<!-- " + value + "--><script><!--" + value + "//--></script>text"), "text");
}

TEST(Html, CountsAttributesLikeAParserOrMore) {
  EXPECT_EQ(count_attributes("<p>x y z"), 0u);
  EXPECT_EQ(count_attributes("<p a b=c d='e f' g=\"h > i\"j>k l"), 5u);
  EXPECT_EQ(count_attributes("<p a\"b c'd e>"), 3u);
  EXPECT_EQ(count_attributes("<p a = 'b c' d"), 2u);
  EXPECT_EQ(count_attributes(""), 0u);
}

TEST(Html, SurvivesEveryCutAndDamage) {
  const std::string page =
      "<!DOCTYPE html><html><head><meta charset=utf-8></head><body><!-- c --><h1 id='a'>T\u00E9"
      "</h1><table><tr><td>1<td>2</table><pre>x\n</pre><a href='#a'>\u00B6</a>&amp;&#x41;"
      "<ul><li>i</ul><![CDATA[q]]><?pi?></body></html>";
  uint32_t state = 7;
  for (size_t size = 1; size <= page.size(); ++size) {
    std::string bytes = page.substr(0, size);
    for (int round = 0; round < 3; ++round) {
      try {
        const MarkedText result = read_html(bytes);
        ASSERT_EQ(valid_utf8_prefix(result.text), result.text.size());
        for (const Heading& heading : result.headings) {
          ASSERT_LE(static_cast<size_t>(heading.byte), result.text.size());
        }
      } catch (const Error&) {
        // refused
      }
      state = state * 1664525 + 1013904223;
      bytes[(state >> 8) % bytes.size()] = static_cast<char>(state >> 24);
    }
  }
}

TEST(Html, PrintsNothing) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_EQ(text_of("<p><foo bar=<b>&bad;</i></p></p></zzz>x\x01<a<b"), "&bad;\n\nx");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace longformer::io
