#include "io/documents/documents.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/limits.h"
#include "io/document_testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;

class Documents : public DirectoryTest {};

TEST_F(Documents, EmptyFilesAreNoCopiesOfEachOther) {
  const DocumentList list = list_documents({put("a", ""), put("b", "")});
  EXPECT_EQ(list.names.size(), 2u);  // named ones are tried: files below /proc say 0 bytes too
  expect_unreadable(path("a"), "empty");
}

TEST_F(Documents, ReadsTextAndKeepsTheName) {
  const Document document = read_one(put("a.txt", "\xEF\xBB\xBFh\xC3\xA9llo\n"));
  EXPECT_EQ(document.name, path("a.txt"));
  EXPECT_EQ(document.text, "h\xC3\xA9llo\n");
  EXPECT_FALSE(document.replaced);
  EXPECT_TRUE(read_one(put("latin1", "d\xE9j\xE0 vu, a longer text")).replaced);
  EXPECT_NE(read_one("/proc/self/status").text.find("Name:"), std::string::npos);
}

TEST_F(Documents, ReadsUtf16WithHalfAUnitAtTheEnd) {
  std::string little = "\xFF\xFE", big = "\xFE\xFF";
  for (const char c : std::string("\xDC"
                                  "ber den B\xE4ren\n")) {
    little += std::string{c, '\0'};
    big += std::string{'\0', c};
  }
  for (const std::string& bytes : {little + "x", big + "x", big + '\0', gzip(little + '\xE9')}) {
    const Document document = read_one(put("a.txt", bytes));
    EXPECT_EQ(document.text, "\u00DCber den B\u00E4ren\n\uFFFD");
    EXPECT_TRUE(document.replaced);
  }
  EXPECT_FALSE(read_one(put("a.txt", little)).replaced);
}

TEST_F(Documents, ReadsStandardInput) {
  const std::string file = put("input", gzip("from a stream"));
  const int saved = dup(STDIN_FILENO);
  const int input = open(file.c_str(), O_RDONLY);
  dup2(input, STDIN_FILENO);
  const Document document = read_one("-");
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(input);
  EXPECT_EQ(document.name, "-");
  EXPECT_EQ(document.text, "from a stream");
}

TEST_F(Documents, ErrorsAreReasonsWithoutTheName) {
  expect_unreadable(path("absent"), "No such file or directory");
  expect_unreadable(directory_.string(), "Is a directory");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_unreadable(path("pipe"), "is not a regular file (a named pipe)");
  expect_unreadable(put("nul", std::string("a\0b", 3)), "binary");
  expect_unreadable(put("bom", "\xEF\xBB\xBF"), "empty");
  expect_unreadable(put("empty.gz", gzip("")), "empty");
  expect_unreadable(put("binary.gz", gzip(std::string(100, '\0'))), "binary");
}

TEST_F(Documents, ExpandsGzipOfAnyShape) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "line " + std::to_string(i * i) + "\n";
  EXPECT_EQ(read_one(put("a.gz", gzip(text))).text, text);
  EXPECT_EQ(read_one(put("b", gzip("one ") + gzip("") + gzip(text))).text, "one " + text);
  for (const char* const garbage : {"x", "trailing garbage", "\x1F", "\x1Fx"}) {
    EXPECT_EQ(read_one(put("c", gzip("text") + garbage)).text, "text");
  }
  EXPECT_EQ(read_one(put("d", gzip("text") + std::string(100'000, '\0'))).text, "text");
}

TEST_F(Documents, RefusesTruncatedAndDamagedGzip) {
  const std::string good = gzip("some text that is long enough to be cut in many places");
  for (size_t size = 2; size < good.size(); ++size) {
    expect_unreadable(put("cut", good.substr(0, size)), "truncated gzip data");
  }
  std::string damaged = good;
  damaged[damaged.size() - 6] ^= 1;  // the checksum
  expect_unreadable(put("damaged", damaged), "damaged gzip data");
  expect_unreadable(put("second", good + good.substr(0, 15)), "truncated gzip data");
}

TEST_F(Documents, KindComesFromContentThenName) {
  const auto kind = [&](const std::string& name, const std::string& bytes) {
    return std::string(document_kind_name(read_one(put(name, bytes)).kind));
  };
  EXPECT_EQ(kind("a.txt", "text"), "text");
  EXPECT_EQ(kind("a", "# text"), "text");
  EXPECT_EQ(kind("a.md", "<h1>x</h1>"), "markdown");
  EXPECT_EQ(kind("a.MARKDOWN", "x"), "markdown");
  EXPECT_EQ(kind("a.md.gz", gzip("x")), "markdown");
  EXPECT_EQ(kind("a.htm", "x"), "html");
  EXPECT_EQ(kind("a.xhtml.gz", gzip("<p>x")), "html");
  EXPECT_EQ(kind("a", "\n<!-- c -->\n<!DOCTYPE HTML PUBLIC '...'><p>x"), "html");
  EXPECT_EQ(kind("a.txt", "\xEF\xBB\xBF<?xml version='1.0'?><html xmlns='x'><p>x"), "html");
  EXPECT_EQ(kind("a.txt", "<htmlx>"), "text");
  EXPECT_EQ(kind("a.xml", "<?xml version='1.0'?><doc/>"), "text");
  EXPECT_EQ(kind("a.pdf", "no PDF at all"), "text");
}

TEST_F(Documents, NamesWhatItDoesNotRead) {
  const auto expect = [&](const std::string& bytes, const std::string& reason) {
    expect_unreadable(put("a.txt", bytes), reason);
    expect_unreadable(put("a.gz", gzip(bytes)), reason);
  };
  expect("\x89PNG\r\n\x1A\n....", "an image (PNG)");
  expect("\xFF\xD8\xFF\xE0", "an image (JPEG)");
  expect("RIFF....WEBPVP8", "an image (WebP)");
  expect("RIFF....WAVEfmt", "sound (WAV)");
  expect("<?xml version='1.0'?>\n<svg xmlns='x'/>", "an image (SVG)");
  expect("{\\rtf1 x}", "an RTF document; save it as DOCX or ODT, or name a converter");
  expect("%!PS-Adobe-3.0", "a PostScript document; convert it to PDF");
  expect(
      "\x7F"
      "ELF\2",
      "a program or library (ELF)");
  expect("SQLite format 3" + std::string(10, '\0'), "an SQLite database");
  expect("BZh91AY&SY...", "bzip2 data; expand it");
  expect(std::string(257, 'n') + "ustar", "a tar archive; unpack it");
  expect("PK\3\4 cut off", "a damaged ZIP archive");
  expect("\1\2\3\4", "binary");
  expect_unreadable(put("a.gz", gzip(gzip("x"))), "gzip data inside gzip data; expand it");
  expect_unreadable(put("e.html", ""), "empty");
  expect_unreadable(put("e.md", ""), "empty");
}

TEST_F(Documents, MarkdownKeepsItsTextAndLines) {
  const std::string text = "# One\r\n\r\n*text*\r\n\r\n## Two\r\nmore\r\n";
  const Document document = read_one(put("a.md", text));
  EXPECT_EQ(document.text, text);
  EXPECT_TRUE(document.has_lines);
  EXPECT_EQ(outline(document.headings), (std::vector<std::string>{"1 One", "2 Two"}));
  const auto more = static_cast<int64_t>(text.find("more"));
  EXPECT_EQ(cite(document, more, more + 4).headings, (std::vector<std::string>{"One", "Two"}));
}

TEST_F(Documents, RecognisesUtf16WithoutAMark) {
  std::string little, big;
  for (const char c : std::string("plain words\nin two bytes each")) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  for (const std::string& bytes : {little, big}) {
    const Document document = read_one(put("a.txt", bytes));
    EXPECT_EQ(document.text, "plain words\nin two bytes each");
    EXPECT_FALSE(document.replaced);
  }
  std::string tag;
  for (const char c : std::string("<html><p>wide")) tag += {c, '\0'};
  EXPECT_EQ(read_one(put("a", tag)).kind, DocumentKind::kHtml);
  // Numbers of two or four bytes are no text.
  std::string numbers, wide;
  for (int i = 0; i < 200; ++i) {
    numbers += {static_cast<char>(i + 1), static_cast<char>(i / 16)};
    wide += {'a', '\0', '\0', '\0'};
  }
  expect_unreadable(put("numbers", numbers), "binary");
  expect_unreadable(put("wide", wide), "binary");
}

// Resident memory in bytes.
size_t resident() {
  return std::stoul(slurp("/proc/self/statm").substr(slurp("/proc/self/statm").find(' '))) *
         static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(Documents, LongTextComesInPartsThroughAPipeInFlatMemory) {
  constexpr size_t kBlocks = 96;  // of a MiB
  std::string block;
  for (int i = 0; block.size() + 40 < (1u << 20); ++i) {
    block +=
        "A sentence of a long text, number " + std::to_string(i % 10) + (i % 9 ? ".\n" : ".\n\n");
  }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (size_t i = 0; i < kBlocks; ++i) {
      for (size_t done = 0; done < block.size();) {
        const ssize_t written = write(ends[1], block.data() + done, block.size() - done);
        if (written <= 0) return;
        done += static_cast<size_t>(written);
      }
    }
    close(ends[1]);
  });
  const int saved = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const size_t before = resident();
  size_t largest = before;
  int64_t bytes = 0, lines = 0, parts = 0;
  bool ended = false;
  read_document("-", {}, [&](const Document& part) {
    EXPECT_FALSE(ended);
    EXPECT_EQ(part.first_byte, bytes);
    EXPECT_EQ(part.first_line, lines);
    EXPECT_LE(part.text.size(), kDocumentPartBytes);
    EXPECT_TRUE(part.last || part.text.ends_with("\n\n"));
    bytes += static_cast<int64_t>(part.text.size());
    lines += std::count(part.text.begin(), part.text.end(), '\n');
    ended = part.last;
    ++parts;
    largest = std::max(largest, resident());
  });
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(ends[0]);
  writer.join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(bytes, static_cast<int64_t>(kBlocks * block.size()));
  EXPECT_GE(parts, static_cast<int64_t>(kBlocks / 8));
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(largest - before, 8 * kDocumentPartBytes);
#endif
}

TEST_F(Documents, HeadingsHoldInLaterParts) {
  const std::string paragraph(1000, 'p');
  std::string text = "# Book\n\n## Chapter\n\n";
  while (text.size() < kDocumentPartBytes + 100'000) text += paragraph + "\n\n";
  text += "## Last\n\nend";
  std::vector<Document> parts;
  read_document(put("a.md", text), {}, [&](Document part) { parts.push_back(std::move(part)); });
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].text + parts[1].text, text);
  EXPECT_EQ(cite(parts[1], 0, 10).headings, (std::vector<std::string>{"Book", "Chapter"}));
  const auto size = static_cast<int64_t>(parts[1].text.size());
  EXPECT_EQ(cite(parts[1], size - 3, size).headings, (std::vector<std::string>{"Book", "Last"}));
}

TEST_F(Documents, SpecialFilesNeverBlock) {
  ASSERT_EQ(mkfifo(path("a.html").c_str(), 0600), 0);
  expect_unreadable(path("a.html"), "is not a regular file (a named pipe)");
  expect_unreadable("/dev/zero", "is not a regular file (a device)");
  expect_unreadable("/dev/zero", "is not a regular file (a device)", {{parse_converter("*=cat")}});
}

}  // namespace
}  // namespace longformer::io
