#include "io/documents/document_parts.h"

#include "io/document_testing.h"
#include "io/documents/text_encoding.h"

namespace longformer::io {
namespace {

std::vector<TextPart> read_parts(const std::string& bytes, size_t part_bytes) {
  ExpandedSource source(memory_source(bytes));
  std::vector<TextPart> parts;
  read_text_parts(source, part_bytes, [&](TextPart part) { parts.push_back(std::move(part)); });
  return parts;
}

TEST(PartEnd, PrefersParagraphsThenLinesThenWords) {
  const auto first = [](const std::string& text) { return text.substr(0, part_end(text, 20)); };
  EXPECT_EQ(first("one two three\n\nfour\nfive six seven"), "one two three\n\n");
  EXPECT_EQ(first("one two thr\r\n \t\r\nfour\nfive six"), "one two thr\r\n \t\r\n");
  EXPECT_EQ(first("one two three\nfour five six seven"), "one two three\n");
  EXPECT_EQ(first("one\n\ntwo three four five six seven"), "one\n\ntwo three four ");
  EXPECT_EQ(first("onetwothreefourfivesixseven"), "onetwothreefourfives");
  EXPECT_EQ(first("onetwothreefourfive\u00E9\u00E9"), "onetwothreefourfive");
  EXPECT_EQ(first("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"), std::string(20, '\n'));
}

TEST(TextParts, JoinToTheWholeWithBytesAndLinesCounted) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "line " + std::to_string(i) + (i % 7 == 0 ? "\n\n" : " \u00E9\u20AC\U0001F600\n");
  }
  for (const size_t size : {size_t{64}, size_t{1000}, size_t{65'537}, size_t{400'000}}) {
    std::string joined;
    int64_t lines = 0;
    const std::vector<TextPart> parts = read_parts(text, size);
    for (const TextPart& part : parts) {
      ASSERT_LE(part.text.size(), size);
      ASSERT_EQ(part.first_byte, static_cast<int64_t>(joined.size()));
      ASSERT_EQ(part.first_line, lines);
      ASSERT_EQ(part.last, &part == &parts.back());
      ASSERT_FALSE(part.replaced);
      joined += part.text;
      lines += std::count(part.text.begin(), part.text.end(), '\n');
    }
    EXPECT_EQ(joined, text);
    EXPECT_GE(parts.size(), text.size() / size);
  }
}

TEST(TextParts, DecodeUtf16AcrossParts) {
  std::string text, wide = "\xFE\xFF";
  for (int i = 0; i < 3000; ++i) {
    text += "\U0001F600 a\u00E9\n";
    wide += std::string("\xD8\x3D\xDE\0\0 \0a\0\xE9\0\n", 12);
  }
  std::string joined;
  for (const TextPart& part : read_parts(wide, 1001)) joined += part.text;
  EXPECT_EQ(joined, text);
}

TEST(TextParts, DecideTheEncodingAtTheFirstOtherByte) {
  const std::string ascii(5000, 'x');
  const auto join = [](const std::string& bytes) {
    std::string joined;
    for (const TextPart& part : read_parts(bytes, 1000)) joined += part.text;
    return joined;
  };
  EXPECT_EQ(join(ascii + "caf\xE9 caf\xE9"), ascii + "caf\u00E9 caf\u00E9");
  EXPECT_EQ(join(ascii + "\u00E9\xE9 \u00E9\u00E9"), ascii + "\u00E9\uFFFD \u00E9\u00E9");
  // What is no known text any more after a beginning that was is read with replacements.
  EXPECT_EQ(join(ascii + "\x81\x8D"), ascii + "\uFFFD\uFFFD");
}

TEST(TextDecoder, GivesTheSameWhateverTheBlocks) {
  for (const std::string& bytes :
       {std::string("plain, then caf\u00E9 \u20AC \U0001F600 and \xFF and \u00E9"),
        std::string("\xEF\xBB\xBFmark \u00E9"), std::string("\xE9t\xE9, one byte a character"),
        std::string("\xFF\xFE"
                    "a\0\x3D\xD8\x00\xDE\x3D\xD8z\0",
                    12)}) {
    const DecodedText whole = decode_text(bytes);
    for (size_t first = 15; first < bytes.size(); ++first) {
      TextDecoder decoder;
      std::string text;
      decoder.decode(std::string_view(bytes).substr(0, first), false, text);
      for (const char c : bytes.substr(first)) decoder.decode({&c, 1}, false, text);
      decoder.decode({}, true, text);
      EXPECT_EQ(text, whole.text) << first;
      EXPECT_EQ(decoder.replaced(), whole.replaced) << first;
    }
  }
}

TEST(TextParts, EmptyTextIsRefused) {
  expect_error(ErrorCode::kInvalidFile, {"empty"}, [] { read_parts("", 100); });
  expect_error(ErrorCode::kInvalidFile, {"empty"}, [] { read_parts("\xEF\xBB\xBF", 100); });
}

}  // namespace
}  // namespace longformer::io
