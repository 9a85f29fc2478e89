#include "io/documents/office.h"

#include "base/limits.h"
#include "io/document_testing.h"

namespace longformer::io {
namespace {

using Lines = std::vector<std::string>;
using Files = std::vector<std::pair<std::string, std::string>>;

const std::string kRelations =
    "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
    "<Relationship Id='r1' Type='http://schemas.openxmlformats.org/officeDocument/2006/"
    "relationships/officeDocument' Target='";
const std::string kWord =
    "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main' "
    "xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'";
const std::string kOdtType = "application/vnd.oasis.opendocument.text";

std::string word(const std::string& root, const std::string& inside) {
  return "<?xml version='1.0' encoding='UTF-8' standalone='yes'?><w:" + root + " " + kWord + ">" +
         inside + "</w:" + root + ">";
}

// A paragraph with a style and text.
std::string p(const std::string& style, const std::string& text) {
  return "<w:p>" + (style.empty() ? "" : "<w:pPr><w:pStyle w:val='" + style + "'/></w:pPr>") +
         "<w:r><w:t xml:space='preserve'>" + text + "</w:t></w:r></w:p>";
}

Files docx(const std::string& body, const Files& more = {}) {
  Files files = {{"[Content_Types].xml", "<Types/>"},
                 {"_rels/.rels", kRelations + "word/document.xml'/></Relationships>"},
                 {"word/document.xml", word("document", "<w:body>" + body + "</w:body>")}};
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

Files odt(const std::string& text, const std::string& head = {}) {
  return {{"mimetype", kOdtType},
          {"content.xml",
           "<?xml version='1.0' encoding='UTF-8'?>" + head +
               "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='a' "
               "xmlns:draw='d' xmlns:svg='s'><office:automatic-styles><text:p>style</text:p>"
               "</office:automatic-styles><office:body><office:text>" +
               text + "</office:text></office:body></office:document-content>"}};
}

class Office : public DirectoryTest {
 protected:
  std::string zip(const Files& files, const char* password = nullptr) const {
    write_zip(path("file"), files, password);
    return path("file");
  }
  std::string text_of(const Files& files) const { return read_one(zip(files)).text; }
};

TEST_F(Office, DocxParagraphsAndHeadings) {
  const std::string styles = word(
      "styles",
      "<w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>"
      "<w:style w:styleId='Mine'><w:name w:val='Mine'/><w:basedOn w:val='berschrift1'/></w:style>"
      "<w:style w:styleId='Out'><w:name w:val='Out'/><w:pPr><w:outlineLvl w:val='2'/></w:pPr>"
      "</w:style><w:style w:styleId='Loop'><w:name w:val='L'/><w:basedOn w:val='Loop'/></w:style>"
      "<w:style w:styleId='Toc'><w:name w:val='toc 1'/></w:style>");
  const Document document = read_one(zip(docx(
      p("Toc", "First .... 3") + p("berschrift1", "First") + p("", "One  two ") + "<w:p/>" +
          p("Out", "Deep") + p("Loop", "text") + p("Mine", "Second") +
          "<w:p><w:pPr><w:outlineLvl w:val='1'/></w:pPr><w:r><w:t>By</w:t><w:br/><w:t>hand</w:t>"
          "</w:r></w:p>" +
          p("", "end"),
      {{"word/styles.xml", styles}})));
  EXPECT_EQ(document.kind, DocumentKind::kDocx);
  EXPECT_FALSE(document.has_lines);
  EXPECT_EQ(document.text, "First\n\nOne two\n\nDeep\n\ntext\n\nSecond\n\nBy hand\n\nend");
  EXPECT_EQ(outline(document.headings), (Lines{"1 First", "3 Deep", "1 Second", "2 By hand"}));
  EXPECT_EQ(document.text.substr(static_cast<size_t>(document.headings[2].byte), 6), "Second");
  const auto end = static_cast<int64_t>(document.text.size());
  EXPECT_EQ(cite(document, end - 3, end).headings, (Lines{"Second", "By hand"}));
}

TEST_F(Office, DocxTablesListsRunsAndChanges) {
  const std::string item = "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>";
  EXPECT_EQ(text_of(docx("<w:tbl><w:tr><w:tc>" + p("", "a") + p("", "b") + "</w:tc><w:tc>" +
                         p("", "c") + "</w:tc></w:tr><w:tr><w:tc><w:p/></w:tc><w:tc>" + p("", "d") +
                         "</w:tc></w:tr></w:tbl>" + item + "one</w:t></w:r></w:p>" + item +
                         "two</w:t></w:r></w:p>" + p("", "end"))),
            "a\n\nb | c\nd\n\none\ntwo\n\nend");
  EXPECT_EQ(text_of(docx("<w:p><w:r><w:t>in</w:t></w:r><w:r><w:t>side</w:t><w:tab/>"
                         "<w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t><w:br/><w:t>line</w:t>"
                         "</w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>"
                         "<w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE"
                         "</w:instrText></w:r><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val='Heading1'"
                         "/></w:pPr></w:pPrChange></w:pPr></w:p>")),
            "inside non-stop\nline");
  // A text box, and the second form of it for old programs.
  EXPECT_EQ(text_of(docx("<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent><mc:Choice>" +
                         p("", "boxed") + "</mc:Choice><mc:Fallback>" + p("", "boxed") +
                         "</mc:Fallback></mc:AlternateContent></w:r></w:p>" + p("", "after"))),
            "before\n\nboxed\n\nafter");
}

TEST_F(Office, DocxNotesFollowTheirParagraph) {
  const std::string notes =
      word("footnotes", "<w:footnote w:type='separator' w:id='-1'>" + p("", "----") +
                            "</w:footnote><w:footnote w:id='2'>" + p("", "See the law.") +
                            "</w:footnote>");
  EXPECT_EQ(text_of(docx("<w:p><w:r><w:t>Claim</w:t><w:footnoteReference w:id='2'/><w:t>.</w:t>"
                         "<w:footnoteReference w:id='-1'/></w:r></w:p>" +
                             p("", "Next"),
                         {{"word/footnotes.xml", notes}})),
            "Claim.\n\nSee the law.\n\nNext");
}

TEST_F(Office, DocxMainPartHasTheNameThatThePackageSays) {
  const Files files = {
      {"[Content_Types].xml", "<Types/>"},
      {"_rels/.rels", kRelations + "/word/document2.xml'/></Relationships>"},
      {"word/document2.xml", word("document", "<w:body>" + p("", "x") + "</w:body>")}};
  EXPECT_EQ(text_of(files), "x");
}

TEST_F(Office, OdtTextHeadingsListsTablesNotes) {
  const Document document = read_one(zip(odt(
      "<text:table-of-content><text:p>Contents</text:p></text:table-of-content>"
      "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
      "<text:h text:outline-level='1'>Title</text:h><text:p>One<text:s text:c='3'/>two<text:tab/>"
      "three<text:line-break/>line</text:p><text:h text:outline-level='2'>Sub <text:span>title"
      "</text:span></text:h><text:list><text:list-item><text:p>a</text:p><text:list>"
      "<text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>"
      "<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>"
      "<table:covered-table-cell><text:p>no</text:p></table:covered-table-cell><table:table-cell>"
      "<text:p>y</text:p></table:table-cell></table:table-row></table:table><text:p>Claim"
      "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>See "
      "&lt;law&gt;."
      "</text:p></text:note-body></text:note> here.<office:annotation><text:p>comment</text:p>"
      "</office:annotation></text:p><text:p>End</text:p>")));
  EXPECT_EQ(document.kind, DocumentKind::kOdt);
  EXPECT_EQ(document.text,
            "Title\n\nOne two three\nline\n\nSub title\n\na\nb\n\nx | y\n\nClaim here.\n\n"
            "See <law>.\n\nEnd");
  EXPECT_EQ(outline(document.headings), (Lines{"1 Title", "2 Sub title"}));
}

TEST_F(Office, ReadsGzipOfOne) {
  EXPECT_EQ(read_one(put("a.gz", gzip(slurp(zip(odt("<text:p>inside</text:p>")))))).text, "inside");
}

TEST_F(Office, NamesOtherArchives) {
  expect_unreadable(zip({{"a.txt", "text"}}), "a ZIP archive; unpack it");
  expect_unreadable(zip({{"META-INF/MANIFEST.MF", "x"}}), "a Java archive");
  expect_unreadable(zip({{"mimetype", "application/epub+zip"}}),
                    "an EPUB book; convert it to HTML or text");
  expect_unreadable(zip({{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}}),
                    "an OpenDocument file without running text (a table, slides or a drawing)");
  const auto office = [&](const std::string& main_part) {
    return zip({{"[Content_Types].xml", "<Types/>"},
                {"_rels/.rels", kRelations + main_part + "'/></Relationships>"}});
  };
  expect_unreadable(office("xl/workbook.xml"), "an Excel workbook (XLSX)");
  expect_unreadable(office("ppt/presentation.xml"), "a PowerPoint presentation (PPTX)");
  expect_unreadable(office("word/absent.xml"), "damaged: no text in it");
  expect_unreadable(zip(docx("<w:p/>")), "no text in it");
}

TEST_F(Office, NamesProtectedOnes) {
  const std::string reason = "protected by a password; save it without one";
  expect_unreadable(zip(docx(p("", "x")), "password"), reason);
  Files encrypted = odt("");
  encrypted[1].second = "\x01\x02 no XML";
  encrypted.emplace_back("META-INF/manifest.xml", "<m><manifest:encryption-data/></m>");
  expect_unreadable(zip(encrypted), reason);
  expect_unreadable(zip({{"mimetype", kOdtType}, {"encrypted-package", "\x01"}}), reason);
  // What Office encrypts is a compound file with a stream of this name.
  std::string compound = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + std::string(1000, '\0');
  expect_unreadable(put("old.doc", compound),
                    "a document of Office before 2007 (DOC, XLS, PPT); save it as DOCX or ODT");
  expect_unreadable(put("new.docx", compound), reason);
  for (const char c : std::string("EncryptedPackage")) compound += {c, '\0'};
  expect_unreadable(put("any", compound), reason);
}

TEST_F(Office, RefusesBombs) {
  const std::string repeated(40 << 20, ' ');
  expect_unreadable(zip(docx(repeated + p("", "x"))), "expands more than 200 times");
  // Entities that stand for each other, in any part.
  const std::string entities =
      "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>";
  const std::string reason = "XML with a document type, which is not read";
  expect_unreadable(zip(odt("<text:p>&c;</text:p>", entities)), reason);
  expect_unreadable(zip(odt("<text:p>x</text:p>", "<!DOCTYPE x SYSTEM 'file:///etc/passwd'>")),
                    reason);
  expect_unreadable(zip(docx(p("", "x"), {{"word/styles.xml", entities + "<x/>"}})), reason);
  expect_unreadable(zip(odt("<text:p>&c;</text:p>")), "damaged XML in it");
}

TEST_F(Office, RefusesDeepAndWideXml) {
  std::string open, wide = "<text:p";
  for (int i = 0; i < 100'000; ++i) {
    open += "<text:span>";
    wide += " a" + std::to_string(i) + "=''";
  }
  expect_unreadable(zip(odt(open)), "XML with more than 1000 elements inside each other");
  expect_unreadable(zip(odt(wide + ">x</text:p>")), "more than 1000 attributes in one element");
  expect_unreadable(zip(odt(wide)), "more than 1000 attributes in one element");
}

TEST_F(Office, RefusesMoreEntriesThanItReads) {
  // The end of an archive that claims more files than allowed, in the 64-bit form.
  std::string bytes = "PK\3\4" + std::string(100, '\0');
  const size_t record = bytes.size();
  bytes += "PK\6\6" + std::string(28, '\0') + std::string("\0\0\0\x10\0\0\0\0", 8) +
           std::string(16, '\0');
  bytes += "PK\6\7" + std::string(4, '\0') + std::string(1, static_cast<char>(record)) +
           std::string(7, '\0') + std::string(4, '\0');
  bytes += "PK\5\6" + std::string(4, '\0') + "\xFF\xFF\xFF\xFF" + std::string(10, '\xFF');
  expect_unreadable(put("many", bytes), "an archive of more than 200000 files");
}

TEST_F(Office, ReadsLongTextInOneElement) {
  std::string words;
  while (words.size() < (12u << 20)) words += "word" + std::to_string(words.size()) + " ";
  EXPECT_EQ(text_of(docx(p("", words))), words.substr(0, words.size() - 1));
}

TEST_F(Office, SurvivesDamage) {
  const std::string good = slurp(zip(docx(p("Heading1", "T") + p("", "text"))));
  for (size_t size = 4; size < good.size(); size += 7) {
    EXPECT_ANY_THROW(read_one(put("cut", good.substr(0, size)))) << size;
  }
  testing::internal::CaptureStderr();
  uint32_t state = 5;
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) {
      state = state * 1664525 + 1013904223;
      bytes[4 + (state >> 8) % (bytes.size() - 4)] = static_cast<char>(state >> 24);
    }
    try {
      read_document(put("damaged", bytes), {}, [](const Document&) {});
    } catch (const Error& error) {
      EXPECT_LT(std::string(error.what()).size(), 120u);
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace longformer::io
