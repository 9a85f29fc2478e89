#include "io/documents/byte_source.h"

#include <unistd.h>

#include "io/document_testing.h"

namespace longformer::io {
namespace {

std::string read_limited(const std::string& bytes, uint64_t limit) {
  ExpandedSource source(memory_source(bytes));
  source.set_limit(limit);
  return source.read_all();
}

TEST(ExpandedSource, StopsAtTheLimit) {
  for (const size_t size : {size_t{10}, size_t{65536}, size_t{65537}, size_t{200'000}}) {
    const std::string text(size, 'a');
    for (const std::string& bytes : {text, gzip(text)}) {
      EXPECT_EQ(read_limited(bytes, size), text);
      expect_error(ErrorCode::kInvalidFile, {"larger than " + std::to_string(size - 1)},
                   [&] { read_limited(bytes, size - 1); });
    }
  }
}

TEST(ExpandedSource, StopsABombAtTheLimitAndShowsTheBeginningAtOnce) {
  const std::string bomb = gzip(std::string(30 << 20, 'a'));  // 1000 times smaller
  EXPECT_LT(bomb.size(), size_t{100'000});
  expect_error(ErrorCode::kInvalidFile, {"when expanded"}, [&] { read_limited(bomb, 1 << 20); });
  ExpandedSource source(memory_source(bomb));
  EXPECT_TRUE(source.is_gzip());
  EXPECT_EQ(source.head(), std::string(64 << 10, 'a'));
}

TEST(ExpandedSource, GivesTheSameBytesInBlocksOfAnySize) {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += std::to_string(i) + "\n";
  for (const size_t block : {size_t{1000}, size_t{65535}, size_t{65536}, size_t{65537}}) {
    ExpandedSource source(memory_source(gzip(text)));
    std::string got, piece(block, '\0');
    for (size_t size = block; size == block;) {
      size = source.read(piece.data(), block);
      got.append(piece, 0, size);
    }
    EXPECT_EQ(got, text) << block;
  }
}

TEST(ExpandedSource, SpoolsIntoAFileThatCanBePositioned) {
  std::string text(150'000, 'x');
  text += "end";
  ExpandedSource source(memory_source(gzip(text)));
  const FileDescriptor file = source.spool();
  EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 0);
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 150'003);
  char end[3];
  ASSERT_EQ(pread(file.get(), end, 3, 150'000), 3);
  EXPECT_EQ(std::string(end, 3), "end");
}

}  // namespace
}  // namespace longformer::io
