// SentencePiece model files: read, refused, and converted as Transformers does.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/limits.h"
#include "support/expect_error.h"
#include "text/files/sentencepiece_files.h"
#include "text/tokenizer.h"

namespace longformer::text {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(uint32_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string fixed(uint32_t field, float value) {
  std::string out = varint(field << 3 | 5);
  out.append(reinterpret_cast<const char*>(&value), 4);
  return out;
}
std::string piece(const std::string& text, float score, uint64_t type = 1) {
  return bytes(1, bytes(1, text) + fixed(2, score) + number(3, type));
}
std::string small_model() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("a", -1.5F);
}

TEST(SentencePieceFile, ReadsWhatMatters) {
  const std::string trainer = number(3, 2) + number(24, 1) + number(35, 1) + number(40, 5) +
                              number(43, ~uint64_t{0}) + bytes(45, "[UNK]") +
                              bytes(99, "unknown field") + fixed(10, 1);
  const std::string normalizer = bytes(1, "name") + bytes(2, std::string("\0\1", 2)) +
                                 number(3, 0) + number(4, 0) + number(5, 0);
  const SentencePieceModel model = read_sentencepiece(
      small_model() + bytes(2, trainer) + bytes(3, normalizer) + bytes(4, "x"), "model");
  ASSERT_EQ(model.pieces.size(), 4u);
  EXPECT_EQ(model.pieces[3].text, "a");
  EXPECT_EQ(model.pieces[3].score, -1.5F);
  EXPECT_EQ(model.pieces[1].type, SentencePiece::Type::kControl);
  EXPECT_EQ(model.kind, SentencePieceModel::Kind::kBpe);
  EXPECT_TRUE(model.byte_fallback && model.treat_whitespace_as_suffix);
  EXPECT_EQ(model.unk_id, 5);
  EXPECT_EQ(model.bos_id, 1);
  EXPECT_EQ(model.pad_id, -1);
  EXPECT_EQ(model.unk_piece, "[UNK]");
  EXPECT_EQ(model.charsmap.size(), 2u);
  EXPECT_FALSE(model.add_dummy_prefix || model.remove_extra_whitespaces ||
               model.escape_whitespaces);
}

TEST(SentencePieceFile, DefaultsOfTheFormat) {
  const SentencePieceModel model = read_sentencepiece(small_model(), "model");
  EXPECT_EQ(model.kind, SentencePieceModel::Kind::kUnigram);
  EXPECT_TRUE(model.add_dummy_prefix && model.remove_extra_whitespaces && model.escape_whitespaces);
  EXPECT_EQ(model.unk_id, 0);
}

TEST(SentencePieceFile, RefusesBrokenFiles) {
  const auto refuse = [](const std::string& file, const std::string& part) {
    test::expect_error(ErrorCode::kInvalidFile, {"model", part},
                       [&] { read_sentencepiece(file, "model"); });
  };
  const std::string good = small_model();
  refuse("", "no pieces");
  refuse(good + "\x80", "cut off");  // truncated varint
  refuse(good + std::string(11, '\xFF'), "longer than ten bytes");
  refuse(good + varint(2 << 3 | 2) + varint(0xFFFFFFFFu), "longer than what is left");  // 4 GB
  refuse(good + varint(2 << 3 | 2) + varint(~uint64_t{0}), "longer than what is left");
  refuse(good + varint(9 << 3 | 1) + "1234567", "cut off");
  refuse(good + varint(9 << 3 | 3), "wire type");  // a group
  refuse(good + varint(7), "1..2^29-1");           // field 0
  refuse(good + number(1, 7), "wrong wire type");
  refuse(good + bytes(1, fixed(1, 0)), "wrong wire type");
  refuse(good + bytes(1, bytes(2, "1234")), "wrong wire type");
  refuse(good + piece("b", std::numeric_limits<float>::quiet_NaN()), "not a finite number");
  refuse(good + piece("b", std::numeric_limits<float>::infinity()), "not a finite number");
  refuse(good + piece("b", 0, 9), "type outside 1..6");
  refuse(good + piece("a", 0), "same piece twice");
  refuse(good + piece("", 0), "is empty");
  refuse(good + piece("\xFF", 0), "not UTF-8");
  refuse(good + piece("<u>", 0, 2), "one piece of the unknown type");
  refuse(piece("a", 0), "one piece of the unknown type");
  refuse(good + piece(std::string(kMaxTokenBytes + 1, 'x'), 0), "longer than");
  refuse(good + bytes(2, number(3, 9)), "type outside 1..4");
  for (size_t length = 1; length < good.size(); ++length) {  // each beginning: read or refused
    try {
      read_sentencepiece(good.substr(0, length), "model");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    }
  }
}

TEST(SentencePieceFile, MergesInTheOrderOfTheScores) {
  SentencePieceModel model = read_sentencepiece(
      small_model() + piece("b", -9) + piece("ab", -2) + piece("aab", -1) + piece("aa", -3),
      "model");
  const std::vector<std::pair<std::string, std::string>> want = {
      {"aa", "b"}, {"a", "ab"}, {"a", "b"}, {"a", "a"}};
  EXPECT_EQ(sentencepiece_merges(model, "model"), want);
}

std::string decode_base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(alphabet.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return out;
}

TokenizerFiles directory(const std::string& model, const std::string& tokenizer_class) {
  TokenizerFiles files;
  files.sentencepiece = model;
  files.tokenizer_config = nlohmann::json{{"tokenizer_class", tokenizer_class}}.dump();
  files.place = "model";
  return files;
}

TEST(SentencePieceDirectory, EqualsTransformers) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/sentencepiece.jsonl");
  std::optional<Tokenizer> tokenizer;
  std::string name;
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("model")) {
      name = json["class"].get<std::string>() + " " + json["kind"].get<std::string>();
      tokenizer = Tokenizer::load(directory(decode_base64(json["model"]), json["class"]));
      continue;
    }
    ++cases;
    const auto text = json["text"].get<std::string>();
    Encoding encoding = tokenizer->encode(text);
    EXPECT_EQ(encoding.ids, json["ids"].get<std::vector<int64_t>>()) << name << line;
    convert_offsets(text, OffsetUnit::kCodePoint, encoding.offsets);
    nlohmann::json offsets = nlohmann::json::array();
    for (const Offset& offset : encoding.offsets) offsets.push_back({offset.begin, offset.end});
    EXPECT_EQ(offsets, json["offsets"]) << name << line;
    EXPECT_EQ(tokenizer->decode(encoding.ids), json["decoded"].get<std::string>()) << name << line;
  }
  EXPECT_EQ(cases, 30);
}

TEST(SentencePieceDirectory, RefusesWhatItCannotConvert) {
  test::expect_error(ErrorCode::kUnsupported, {"model", "MarianTokenizer"},
                     [] { Tokenizer::load(directory(small_model(), "MarianTokenizer")); });
  test::expect_error(ErrorCode::kUnsupported, {"model", "words or characters"}, [] {
    Tokenizer::load(directory(small_model() + bytes(2, number(3, 3)), "XLMRobertaTokenizer"));
  });
  test::expect_error(ErrorCode::kInvalidFile, {"model", "character map"}, [] {
    Tokenizer::load(directory(small_model() + bytes(3, bytes(2, "xyz")), "XLMRobertaTokenizer"));
  });
}

}  // namespace
}  // namespace longformer::text
