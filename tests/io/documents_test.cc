#include "io/documents.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "io/byte_source.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Documents : public DirectoryTest {
 protected:
  // Paths of a result below the test's directory, without it.
  Names relative(const Names& paths) const {
    Names result;
    for (const std::string& name : paths) result.push_back(shorten(name));
    return result;
  }
  Names reasons(const std::vector<SkippedFile>& files) const {
    Names result;
    for (const SkippedFile& file : files) {
      result.push_back(shorten(file.name) + ": " + shorten(file.reason));
    }
    return result;
  }
  std::string shorten(const std::string& name) const {
    const std::string prefix = directory_.string() + "/";
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  }

  void expect_unreadable(const std::string& name, const std::string& reason) const {
    try {
      read_document(name);
      ADD_FAILURE() << name << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), reason);
    }
  }
};

TEST_F(Documents, ListsArgumentsInOrderAndDirectoriesSorted) {
  put("z.txt", "zz");
  put("d/b.txt", "b");
  put("d/a/2.txt", "22 ");
  put("d/a/10.txt", "10  ");
  put("d/a-b.txt", "a-b  ");
  put("d/.git/config", "hidden directory");
  put("d/.hidden", "hidden file");
  const DocumentList list = list_documents({path("z.txt"), path("d"), "-", "-"});
  EXPECT_EQ(relative(list.names),
            (Names{"z.txt", "d/a/10.txt", "d/a/2.txt", "d/a-b.txt", "d/b.txt", "-"}));
  EXPECT_TRUE(list.skipped.empty());
  EXPECT_EQ(reasons(list.duplicates), Names{"-: -"});
}

TEST_F(Documents, HiddenFilesAreReadWhenNamed) {
  put(".notes/.todo", "text");
  EXPECT_EQ(list_documents({path(".notes/.todo")}).names.size(), 1u);
  EXPECT_TRUE(list_documents({path(".notes")}).names.empty());
}

TEST_F(Documents, SkipsWithTheSystemsReason) {
  put("d/empty", "");
  ASSERT_EQ(mkfifo(path("d/pipe").c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path("d/s");
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  fs::create_symlink("nowhere", directory_ / "d/dangling");
  const DocumentList list = list_documents({path("absent"), "", path("d"), "/dev/null"});
  close(listener);
  EXPECT_TRUE(list.names.empty());
  EXPECT_EQ(
      reasons(list.skipped),
      (Names{"absent: No such file or directory", ": No such file or directory",
             "d/dangling: No such file or directory", "d/empty: empty",
             "d/pipe: not a regular file (a named pipe)", "d/s: not a regular file (a socket)",
             "/dev/null: not a regular file (a device)"}));
}

TEST_F(Documents, LinkLoopsEndAndEachDirectoryIsEnteredOnce) {
  put("d/sub/a.txt", "a");
  put("outside/b.txt", "bb");
  fs::create_directory_symlink("..", directory_ / "d/sub/up");
  fs::create_directory_symlink("../outside", directory_ / "d/link");
  fs::create_symlink("self", directory_ / "d/self");
  const DocumentList list = list_documents({path("d"), path("d/sub"), path("d")});
  EXPECT_EQ(relative(list.names), (Names{"d/link/b.txt", "d/sub/a.txt"}));
  ASSERT_EQ(list.skipped.size(), 1u);
  EXPECT_EQ(shorten(list.skipped[0].name), "d/self");
}

TEST_F(Documents, SameFilesCountOnceUnderTheFirstName) {
  const std::string text(100'000, 't');
  put("a.txt", text);
  put("b-copy.txt", text);
  put("c-other.txt", std::string(99'999, 't') + "x");  // same size, other content
  put("d-copy.txt", text);
  fs::create_hard_link(directory_ / "a.txt", directory_ / "e-hard.txt");
  fs::create_symlink("a.txt", directory_ / "f-link.txt");
  put("g-copy.txt", std::string(99'999, 't') + "x");
  const DocumentList list = list_documents({directory_.string(), path("a.txt")});
  EXPECT_EQ(relative(list.names), (Names{"a.txt", "c-other.txt"}));
  EXPECT_EQ(reasons(list.duplicates),
            (Names{"b-copy.txt: a.txt", "d-copy.txt: a.txt", "e-hard.txt: a.txt",
                   "f-link.txt: a.txt", "g-copy.txt: c-other.txt", "a.txt: a.txt"}));
  EXPECT_TRUE(list.skipped.empty());
}

TEST_F(Documents, LinkToACopyNamesTheListedFile) {
  put("a.txt", "same");
  put("b.txt", "same");
  fs::create_hard_link(directory_ / "b.txt", directory_ / "c.txt");
  EXPECT_EQ(reasons(list_documents({directory_.string()}).duplicates),
            (Names{"b.txt: a.txt", "c.txt: a.txt"}));
}

TEST_F(Documents, EmptyFilesAreNoCopiesOfEachOther) {
  const DocumentList list = list_documents({put("a", ""), put("b", "")});
  EXPECT_EQ(list.names.size(), 2u);  // named ones are tried: files below /proc say 0 bytes too
  expect_unreadable(path("a"), "empty");
}

TEST_F(Documents, ReadsTextAndKeepsTheName) {
  const Document document = read_document(put("a.txt", "\xEF\xBB\xBFh\xC3\xA9llo\n"));
  EXPECT_EQ(document.name, path("a.txt"));
  EXPECT_EQ(document.text, "h\xC3\xA9llo\n");
  EXPECT_FALSE(document.replaced);
  EXPECT_TRUE(read_document(put("latin1", "d\xE9j\xE0 vu, a longer text")).replaced);
  EXPECT_NE(read_document("/proc/self/status").text.find("Name:"), std::string::npos);
}

TEST_F(Documents, ReadsStandardInput) {
  const std::string file = put("input", gzip("from a stream"));
  const int saved = dup(STDIN_FILENO);
  const int input = open(file.c_str(), O_RDONLY);
  dup2(input, STDIN_FILENO);
  const Document document = read_document("-");
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
  EXPECT_EQ(read_document(put("a.gz", gzip(text))).text, text);
  EXPECT_EQ(read_document(put("b", gzip("one ") + gzip("") + gzip(text))).text, "one " + text);
  for (const char* const garbage : {"x", "trailing garbage", "\x1F", "\x1Fx"}) {
    EXPECT_EQ(read_document(put("c", gzip("text") + garbage)).text, "text");
  }
  EXPECT_EQ(read_document(put("d", gzip("text") + std::string(100'000, '\0'))).text, "text");
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

// Memory for a source of any size, in blocks of any size.
ByteSource memory_source(const std::string& bytes) {
  return [bytes, done = size_t{0}](char* out, size_t size) mutable {
    const size_t got = std::min(size, bytes.size() - done);
    std::copy_n(bytes.data() + done, got, out);
    done += got;
    return got;
  };
}

TEST(ReadExpanded, StopsAtTheLimit) {
  const auto no_check = [](std::string_view) {};
  for (const size_t size : {size_t{10}, size_t{65536}, size_t{65537}, size_t{200'000}}) {
    const std::string text(size, 'a');
    for (const std::string& bytes : {text, gzip(text)}) {
      EXPECT_EQ(read_expanded(memory_source(bytes), size, no_check), text);
      expect_error(ErrorCode::kInvalidFile, {"larger than " + std::to_string(size - 1)},
                   [&] { read_expanded(memory_source(bytes), size - 1, no_check); });
    }
  }
}

TEST(ReadExpanded, StopsABombAtTheLimitAndBinaryDataAtOnce) {
  const std::string bomb = gzip(std::string(30 << 20, 'a'));  // 1000 times smaller
  EXPECT_LT(bomb.size(), size_t{100'000});
  expect_error(ErrorCode::kInvalidFile, {"when expanded"},
               [&] { read_expanded(memory_source(bomb), 1 << 20, [](std::string_view) {}); });
  size_t seen = 0;
  EXPECT_THROW(read_expanded(memory_source(bomb), uint64_t{1} << 40,
                             [&](std::string_view head) {
                               seen = head.size();
                               throw std::runtime_error("seen enough");
                             }),
               std::runtime_error);
  EXPECT_EQ(seen, size_t{64 << 10});
}

}  // namespace
}  // namespace longformer::io
