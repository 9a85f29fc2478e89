// Decoders: what the reference gave (tools/tokenizer_step_goldens.py), and what must be refused.
#include "text/decoder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/expect_error.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

using test::expect_error;

Decoder decoder(const char* json) { return Decoder::from_json(Json::parse(json), "file"); }

void expect_refused(const char* json, ErrorCode code, const std::string& part) {
  SCOPED_TRACE(json);
  expect_error(code, {"file", part}, [&] { decoder(json); });
}

TEST(Decoder, EqualsTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/decoders.jsonl");
  ASSERT_TRUE(file);
  size_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    SCOPED_TRACE(json["decoder"].dump());
    const Decoder decoder =
        json["decoder"].is_null() ? Decoder() : Decoder::from_json(json["decoder"], "file");
    for (const Json& one : json["cases"]) {
      EXPECT_EQ(decoder.decode(one[0].get<std::vector<std::string>>()), one[1].get<std::string>())
          << one[0].dump();
      ++cases;
    }
  }
  EXPECT_GT(cases, 500u);
}

TEST(Decoder, NamedOnesEqualTheirFiles) {
  const std::vector<std::string> tokens = {"▁un", "##aff", "Ġthe", "▁a▁b", "!", "<0x41>"};
  EXPECT_EQ(Decoder::word_piece("##", true).decode(tokens),
            decoder(R"({"type":"WordPiece","prefix":"##","cleanup":true})").decode(tokens));
  EXPECT_EQ(Decoder::byte_level().decode(tokens),
            decoder(R"({"type":"ByteLevel"})").decode(tokens));
  EXPECT_EQ(Decoder::metaspace("▁", true).decode(tokens), "un##affĠthe a b!<0x41>");
  EXPECT_EQ(Decoder::metaspace("▁", false).decode(tokens), " un##affĠthe a b!<0x41>");
}

// The reference panics here; what is left of the token is the answer.
TEST(Decoder, StripsShortTokensToNothing) {
  const Decoder both = decoder(R"({"type":"Strip","content":"▁","start":1,"stop":1})");
  EXPECT_EQ(both.decode({"▁"}), "");
  EXPECT_EQ(both.decode({""}), "");
  EXPECT_EQ(both.decode({"▁▁a▁▁", "▁▁"}), "▁a▁");
  EXPECT_EQ(
      decoder(
          R"({"type":"Strip","content":"▁","start":18446744073709551615,"stop":18446744073709551615})")
          .decode({"▁▁▁", "▁a▁"}),
      "a");
}

TEST(Decoder, MetaspaceOfOlderFiles) {
  const char* none = R"({"type":"Metaspace","replacement":"▁"})";
  const char* kept =
      R"({"type":"Metaspace","replacement":"▁","add_prefix_space":true,"str_rep":"▁"})";
  const char* never = R"({"type":"Metaspace","replacement":"▁","add_prefix_space":false})";
  EXPECT_EQ(decoder(none).decode({"▁a"}), "a");
  EXPECT_EQ(decoder(kept).decode({"▁a"}), "a");
  EXPECT_EQ(decoder(never).decode({"▁a"}), " a");
}

TEST(Decoder, InvalidBytesBecomeReplacementCharacters) {
  const Decoder bytes = Decoder::byte_level();
  EXPECT_EQ(bytes.decode({"â", "Ĥ¬"}), "€");
  EXPECT_EQ(bytes.decode({"Ã"}), "\uFFFD");             // a lead byte at the end
  EXPECT_EQ(bytes.decode({"â", "Ĥ", "a"}), "\uFFFDa");  // one for the maximal bad sequence
  EXPECT_EQ(bytes.decode({"Ģ", "Ģ"}), "\uFFFD\uFFFD");  // one each
  EXPECT_EQ(bytes.decode({"中", "Ġa"}), "中 a");        // outside the alphabet: stands for itself
}

TEST(Decoder, AnyTokensGiveValidText) {
  const Decoder all = decoder(R"({"type":"Sequence","decoders":[
      {"type":"ByteFallback"},{"type":"Metaspace","replacement":"▁"},{"type":"ByteLevel"},
      {"type":"Strip","content":" ","start":1,"stop":1}]})");
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    tokens.emplace_back(name);
    std::string character;
    utf8::append(static_cast<char32_t>(0x80 + byte), character);
    tokens.push_back(character);
  }
  const std::string text = all.decode(tokens);
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(utf8::valid_prefix(text), text.size());
}

TEST(Decoder, RefusesBrokenFiles) {
  const ErrorCode invalid = ErrorCode::kInvalidFile;
  expect_refused(R"({"type":"Strip","content":"ab","start":1,"stop":1})", invalid,
                 "decoder.content must be one character");
  expect_refused(R"({"type":"Strip","content":"","start":1,"stop":1})", invalid, "one character");
  expect_refused(R"({"type":"Strip","content":"a","start":-1,"stop":1})", invalid,
                 "decoder.start must be a whole number");
  expect_refused(R"({"type":"Metaspace","replacement":"ab"})", invalid, "one character");
  expect_refused(R"({"type":"Metaspace","replacement":"a","prepend_scheme":"last"})", invalid,
                 "must be always, first or never");
  expect_refused(
      R"({"type":"Metaspace","replacement":"a","prepend_scheme":"always","add_prefix_space":false})",
      invalid, "must be never");
  expect_refused(R"({"type":"Replace","pattern":"a","content":"b"})", invalid,
                 "decoder.pattern must be an object");
  expect_refused(R"({"type":"Replace","pattern":{"Regex":"("},"content":"b"})", invalid, "");
  expect_refused(R"({"type":"Sequence","decoders":[{"type":"WordPiece","prefix":"a"}]})", invalid,
                 "decoder.decoders.cleanup is missing");
  expect_refused(R"({"type":"Foo"})", ErrorCode::kUnsupported, "\"Foo\" is not supported");
  expect_refused(R"([])", invalid, "must be an object");
  std::string many = R"({"type":"Sequence","decoders":[{"type":"Fuse"})";
  for (int i = 0; i < 64; ++i) many += R"(,{"type":"Fuse"})";
  expect_refused((many + "]}").c_str(), invalid, "more than 64 steps");
}

TEST(Decoder, RefusesToBlowUp) {
  Json steps = Json::array();
  for (int i = 0; i < 20; ++i) {
    steps.push_back({{"type", "Replace"},
                     {"pattern", {{i % 2 == 0 ? "String" : "Regex", "a"}}},
                     {"content", std::string(1000, 'a')}});
  }
  const Decoder bomb = Decoder::from_json({{"type", "Sequence"}, {"decoders", steps}}, "file");
  expect_error(ErrorCode::kInvalidFile, {"many times as long"}, [&] { bomb.decode({"a"}); });
  EXPECT_EQ(bomb.decode({"b"}), "b");
}

}  // namespace
}  // namespace longformer::text
