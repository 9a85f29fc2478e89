#include "io/documents/pdf.h"

#include <unistd.h>

#include "io/document_testing.h"
#include "io/posix.h"

namespace longformer::io {
namespace {

using namespace std::chrono_literals;

class Pdf : public DirectoryTest {
 protected:
  // A program in the place of pdftotext.
  std::string fake(const std::string& script) const {
    const std::string file = put("fake", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  MarkedText read_with(const std::string& script, std::chrono::milliseconds time = 20s) const {
    const FileDescriptor file = open_for_reading(put("a.pdf", "%PDF-1.4 SECRET"));
    return read_pdf(file.get(), {fake(script), time});
  }
};

TEST_F(Pdf, KeepsPageNumbers) {
  const MarkedText text = text_of_pages("one\n\ntwo\n\f\f  third \n\f");
  EXPECT_EQ(text.text, "one\n\ntwo\n\n  third");
  ASSERT_EQ(text.pages.size(), 2u);
  EXPECT_EQ(text.pages[0].byte, 0);
  EXPECT_EQ(text.pages[0].number, 1);
  EXPECT_EQ(text.pages[1].byte, 10);
  EXPECT_EQ(text.pages[1].number, 3);
  EXPECT_TRUE(text_of_pages("\f\f").text.empty());
  EXPECT_EQ(text_of_pages("x").pages.size(), 1u);
}

TEST_F(Pdf, ReadsWithTheRealProgram) {
  const Document document =
      read_one(put("a.bin", pdf_bytes({"First page.", "", "The third one."})));
  EXPECT_EQ(document.kind, DocumentKind::kPdf);
  EXPECT_FALSE(document.has_lines);
  EXPECT_EQ(document.text, "First page.\n\nThe third one.");
  const auto third = static_cast<int64_t>(document.text.find("third"));
  EXPECT_EQ(cite(document, third, third + 5).page_start, 3);
  EXPECT_EQ(cite(document, 0, third + 5).page_start, 1);
  EXPECT_EQ(cite(document, 0, third + 5).page_end, 3);
}

TEST_F(Pdf, ReadsGzipOfOne) {
  EXPECT_EQ(read_one(put("a.pdf.gz", gzip(pdf_bytes({"Inside gzip."})))).text, "Inside gzip.");
}

TEST_F(Pdf, NamesProtectedBrokenAndEmptyOnes) {
  const std::string key(32, 'A');
  expect_unreadable(
      put("locked.pdf",
          pdf_bytes({"secret"}, " /Encrypt << /Filter /Standard /V 1 /R 2 /O (" + key + ") /U (" +
                                    key + ") /P -4 >> /ID [(a) (a)]")),
      "protected by a password; save it without one");
  expect_unreadable(put("broken.pdf", "%PDF-1.4\nnothing of a PDF"),
                    "not a PDF that can be read (pdftotext ended with status 1)");
  expect_unreadable(put("images.pdf", pdf_bytes({"", ""})),
                    "no text in it: its pages are images; recognise their text first (OCR)");
}

TEST_F(Pdf, SaysWhatToInstall) {
  const FileDescriptor file = open_for_reading(put("a.pdf", "%PDF-"));
  expect_error(ErrorCode::kNotFound, {"poppler-utils"}, [&] {
    read_pdf(file.get(), {"no-such-pdftotext", 1s});
  });
}

TEST_F(Pdf, SurvivesAProgramThatMisbehaves) {
  expect_error(ErrorCode::kIo, {"needed more than 0 seconds"},
               [&] { read_with("sleep 50", 200ms); });
  expect_error(ErrorCode::kInvalidFile, {"signal 11"}, [&] { read_with("kill -SEGV $$"); });
  expect_error(ErrorCode::kInvalidFile, {"permissions"}, [&] { read_with("exit 3"); });
  EXPECT_EQ(read_with("printf 'not UTF-8: \\377'").text, "not UTF-8: \u00FF");
}

TEST_F(Pdf, ReasonsNeverQuoteTheDocument) {
  try {
    read_with("cat >&2; exit 1");
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("SECRET"), std::string::npos);
  }
}

TEST_F(Pdf, TheProgramSeesTheFileAndLittleElse) {
  EXPECT_EQ(read_with("cat").text, "%PDF-1.4 SECRET");
  EXPECT_EQ(read_with("env | cut -d= -f1 | grep -v -e '^_$' -e PWD | sort").text, "LC_ALL\nPATH");
  EXPECT_EQ(read_with("ulimit -v; ulimit -c").text,
            std::to_string(kMaxProgramBytes / 1024) + "\n0");
}

TEST_F(Pdf, SurvivesDamage) {
  const std::string good = pdf_bytes({"First page.", "Second page."});
  uint32_t state = 3;
  for (int round = 0; round < 12; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 10; ++i) {
      state = state * 1664525 + 1013904223;
      bytes[9 + (state >> 8) % (bytes.size() - 9)] = static_cast<char>(state >> 24);
    }
    try {
      read_document(put("damaged.pdf", bytes), {}, [](const Document&) {});
    } catch (const Error& error) {
      EXPECT_LT(std::string(error.what()).size(), 120u);
    }
  }
}

}  // namespace
}  // namespace longformer::io
