#include "io/documents/text_encoding.h"

#include "io/testing.h"

namespace longformer::io {
namespace {

TEST(Utf8, AcceptsEachLengthAtItsLimits) {
  for (const std::string text :
       {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "eight bytes and \xC3\xA9 more"}) {
    EXPECT_EQ(valid_utf8_prefix(text), text.size()) << text;
  }
  EXPECT_EQ(valid_utf8_prefix(std::string("a\0b", 3)), 3u);
}

TEST(Utf8, StopsAtOverlongSurrogateTruncatedAndStrayBytes) {
  for (const std::string bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2 ",
                                "\xE0\x9F\xBF", "\xE2\x82", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                "\xF0\x9F\x98", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(valid_utf8_prefix(bad), 0u) << bad;
    EXPECT_EQ(valid_utf8_prefix("0123456789" + bad + "x"), 10u) << bad;
  }
}

TEST(LooksBinary, SeesNulAndControlCharacters) {
  EXPECT_TRUE(looks_binary(std::string("text\0text", 9)));
  EXPECT_TRUE(looks_binary("\x01\x02\x03text"));
  EXPECT_FALSE(looks_binary(std::string(100, 'x') + "\x01\x02"));  // a few are tolerated
  EXPECT_FALSE(looks_binary("\t\r\n\v\f"));
  EXPECT_FALSE(looks_binary("N\bNA\bAM\bME\bE"));              // bold in a manual page
  EXPECT_FALSE(looks_binary("\x1B[1m\x1B[0m\x1B[1m\x1B[0m"));  // terminal colours
  EXPECT_FALSE(looks_binary(""));
}

TEST(DecodeText, KeepsUtf8AndDropsItsMark) {
  const DecodedText plain = decode_text("na\xC3\xAFve \xF0\x9F\x98\x80\r\n");
  EXPECT_EQ(plain.text, "na\xC3\xAFve \xF0\x9F\x98\x80\r\n");
  EXPECT_FALSE(plain.replaced);
  const DecodedText marked = decode_text("\xEF\xBB\xBFtext \xEF\xBB\xBF");
  EXPECT_EQ(marked.text, "text \xEF\xBB\xBF");  // only the first is a mark
  EXPECT_FALSE(marked.replaced);
}

TEST(DecodeText, ReadsUtf16InBothByteOrders) {
  const DecodedText little = decode_text(std::string("\xFF\xFEh\0\xE9\0\x3D\xD8\x00\xDE", 10));
  EXPECT_EQ(little.text, "h\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_FALSE(little.replaced);
  const DecodedText big = decode_text(std::string("\xFE\xFF\0h\0\xE9\xD8\x3D\xDE\x00", 10));
  EXPECT_EQ(big.text, little.text);
}

TEST(DecodeText, ReplacesBrokenUtf16) {
  const std::string replacement = "\xEF\xBF\xBD";
  const auto check = [&](const std::string& bytes, const std::string& expected) {
    const DecodedText result = decode_text("\xFF\xFE" + bytes);
    EXPECT_EQ(result.text, expected);
    EXPECT_TRUE(result.replaced);
  };
  check(std::string("a\0\x3D\xD8", 4), "a" + replacement);  // high half at the end
  check(std::string("\x3D\xD8z\0", 4), replacement + "z");  // high half alone
  check(std::string("\x00\xDEz\0", 4), replacement + "z");  // low half alone
  check(std::string("a\0b", 3), "a" + replacement);         // half a unit
}

TEST(DecodeText, RefusesUtf32) {  // its mark begins like that of UTF-16
  expect_error(ErrorCode::kInvalidFile, {"binary"},
               [] { decode_text(std::string("\xFF\xFE\0\0h\0\0\0", 8)); });
}

TEST(DecodeText, ReadsWindows1252) {
  const DecodedText result = decode_text("caf\xE9 costs \x80 5 \x93quoted\x94 \xA0\xFF");
  EXPECT_EQ(result.text,
            "caf\xC3\xA9 costs \xE2\x82\xAC 5 \xE2\x80\x9Cquoted\xE2\x80\x9D \xC2\xA0\xC3\xBF");
  EXPECT_TRUE(result.replaced);
}

TEST(DecodeText, RepairsUtf8WithSomeDamage) {
  const std::string good = "\xC3\xA9\xC3\xA8\xC3\xA0 \xE2\x82\xAC";
  const DecodedText stray = decode_text(good + " \xFF " + good);
  EXPECT_EQ(stray.text, good + " \xEF\xBF\xBD " + good);
  EXPECT_TRUE(stray.replaced);
  // A character cut off at the end is one replacement, not one a byte.
  EXPECT_EQ(decode_text(good + "\xF0\x9F\x98").text, good + "\xEF\xBF\xBD");
}

TEST(DecodeText, RefusesOtherEncodings) {
  // Russian in KOI8-R: nearly every byte is above 127.
  expect_error(ErrorCode::kInvalidFile, {"UTF-8"}, [] {
    decode_text("\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2 \xD0\xD2\xC9\xD7\xC5\xD4");
  });
}

TEST(DecodeText, AlwaysGivesValidUtf8) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes =
        round % 2 == 0 ? "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9" : "plain text";
    if (round % 5 == 0) bytes.insert(0, "\xFF\xFE");
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525 + 1013904223;
      bytes.insert(bytes.begin() + state % bytes.size(), static_cast<char>(state >> 24));
    }
    try {
      const DecodedText result = decode_text(bytes);
      ASSERT_EQ(valid_utf8_prefix(result.text), result.text.size());
    } catch (const Error&) {
      // refused as no text
    }
  }
}

}  // namespace
}  // namespace longformer::io
