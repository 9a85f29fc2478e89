// The interface beyond encode(): names and ids, template, bad UTF-8, and properties that hold for
// every text.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "longformer/error.h"
#include "test_vocabulary.h"

namespace longformer::text {
namespace {

using Ids = std::vector<int64_t>;

EncodeSettings bare() {
  EncodeSettings settings;
  settings.add_special_tokens = false;
  return settings;
}

TEST(TokenizerTest, NamesAndIds) {
  const Tokenizer tokenizer = load_json(bert_json());
  EXPECT_EQ(tokenizer.vocabulary_size(), 21);
  EXPECT_EQ(tokenizer.id("the"), 8);
  EXPECT_EQ(tokenizer.id("[MASK]"), 4);
  EXPECT_FALSE(tokenizer.id("dog").has_value());
  EXPECT_EQ(tokenizer.token(16), "中");
  EXPECT_THROW(tokenizer.token(-1), Error);
  EXPECT_THROW(tokenizer.token(21), Error);
  EXPECT_EQ(tokenizer.special_prefix(), Ids{2});
  EXPECT_EQ(tokenizer.special_suffix(), Ids{3});
}

TEST(TokenizerTest, NeverTruncatesOrPads) {  // the file asks for both
  const Tokenizer tokenizer = load_json(bert_json());
  EXPECT_EQ(tokenizer.encode("the cat the cat").ids, (Ids{2, 8, 9, 8, 9, 3}));
  EXPECT_EQ(tokenizer.encode("").ids, (Ids{2, 3}));
}

TEST(TokenizerTest, AddedTokensExtendTheVocabulary) {
  nlohmann::json json = bert_json();
  json["added_tokens"].push_back({{"id", 21},
                                  {"content", "<new>"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", true},
                                  {"special", false}});
  const Tokenizer tokenizer = load_json(json);
  EXPECT_EQ(tokenizer.vocabulary_size(), 22);
  EXPECT_EQ(tokenizer.id("<new>"), 21);
  EXPECT_EQ(tokenizer.token(21), "<new>");
  EXPECT_EQ(tokenizer.encode("the<NEW>cat").ids, (Ids{2, 8, 21, 9, 3}));
}

TEST(TokenizerTest, GapsInIdsAreLegal) {
  nlohmann::json json = bert_json();
  json["model"]["vocab"]["x"] = 40;
  const Tokenizer tokenizer = load_json(json);
  EXPECT_EQ(tokenizer.vocabulary_size(), 41);
  EXPECT_EQ(tokenizer.encode("x").ids, (Ids{2, 40, 3}));
  EXPECT_THROW(tokenizer.token(20), Error);
  EXPECT_EQ(tokenizer.decode({8, 20, 30, 9, 99, -3}), "the cat");
}

TEST(TokenizerTest, ModelWithoutTypeIsWordPiece) {  // files of 2020
  nlohmann::json json = bert_json();
  json["model"].erase("type");
  EXPECT_EQ(load_json(json).encode("unaffable").ids, (Ids{2, 5, 6, 7, 3}));
}

TEST(TokenizerTest, BadUtf8IsReplacedAndOffsetsStay) {
  nlohmann::json json = bert_json();
  const Tokenizer cleaning = load_json(json);  // drops U+FFFD
  const std::string text =
      "the \xFF"
      "cat\xE2\x82 a";
  EXPECT_EQ(cleaning.encode(text).ids, (Ids{2, 8, 9, 10, 3}));
  EXPECT_EQ(cleaning.encode(text).offsets,
            (std::vector<Offset>{{0, 0}, {0, 3}, {5, 8}, {11, 12}, {0, 0}}));

  json["normalizer"]["clean_text"] = false;
  json["model"]["vocab"]["\uFFFD"] = 21;
  json["model"]["vocab"]["##\uFFFD"] = 22;
  const Tokenizer keeping = load_json(json);
  const std::string bad =
      "a\xF0\x9F\x98 \xED\xA0\x80 \xC0\xAF x";  // cut emoji, surrogate, overlong
  const Encoding encoding = keeping.encode(bad, bare());
  EXPECT_EQ(encoding.ids, (Ids{10, 22, 21, 22, 22, 21, 22, 20}));
  std::vector<Offset> offsets = encoding.offsets;
  EXPECT_EQ(offsets, (std::vector<Offset>{
                         {0, 1}, {1, 4}, {5, 6}, {6, 7}, {7, 8}, {9, 10}, {10, 11}, {12, 13}}));
  convert_offsets(bad, OffsetUnit::kCodePoint, offsets);
  EXPECT_EQ(offsets, (std::vector<Offset>{
                         {0, 1}, {1, 2}, {3, 4}, {4, 5}, {5, 6}, {7, 8}, {8, 9}, {10, 11}}));
}

std::string random_text(std::mt19937& random, bool utf8_only) {
  static const std::vector<std::string> kParts = {
      "the", "cat", "unaffable", "a",      "b",      "CAFE\u0301", "café",   " ",      "  ",
      "\n",  "!",   "中",        "文",     "[MASK]", "[SEP",       "\u0301", "\u0323", "😀",
      "İ",   "ﬁ",   "한",        "\u00a0", "\u200d", "\x01",       "\u2028", "##"};
  std::string text;
  for (int n = static_cast<int>(random() % 20); n > 0; --n) {
    text += kParts[random() % kParts.size()];
    if (!utf8_only && random() % 4 == 0) text += static_cast<char>(0x80 + random() % 0x80);
  }
  return text;
}

TEST(TokenizerProperties, OffsetsAreMonotoneInsideAndOnBorders) {
  std::mt19937 random(1);
  const Tokenizer tokenizer = load_json(bert_json());
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random, round % 2 == 0);
    const Encoding encoding = tokenizer.encode(text, bare());
    int64_t last = 0;
    for (const Offset& offset : encoding.offsets) {
      EXPECT_LE(last, offset.begin);
      EXPECT_LT(offset.begin, offset.end);
      last = offset.end;
    }
    EXPECT_LE(last, static_cast<int64_t>(text.size()));
    std::vector<Offset> converted = encoding.offsets;
    EXPECT_NO_THROW(convert_offsets(text, OffsetUnit::kCodePoint, converted));  // refuses others
  }
}

TEST(TokenizerProperties, WhiteSpaceSeparates) {
  std::mt19937 random(2);
  const Tokenizer tokenizer = load_json(bert_json());
  for (int round = 0; round < 1000; ++round) {
    const std::string a = random_text(random, false);
    const std::string b = random_text(random, false);
    const std::string between = " ";
    const Encoding first = tokenizer.encode(a, bare());
    const Encoding second = tokenizer.encode(b, bare());
    const Encoding both = tokenizer.encode(a + between + b, bare());
    Ids ids = first.ids;
    ids.insert(ids.end(), second.ids.begin(), second.ids.end());
    std::vector<Offset> offsets = first.offsets;
    const auto shift = static_cast<int64_t>(a.size() + between.size());
    for (const Offset& o : second.offsets) offsets.push_back({o.begin + shift, o.end + shift});
    EXPECT_EQ(both.ids, ids);
    EXPECT_EQ(both.offsets, offsets);
  }
}

// The short way for ASCII and the way that an added token of kind "normalized" forces agree.
TEST(TokenizerProperties, ShortWayEqualsGeneralWay) {
  std::mt19937 random(3);
  nlohmann::json json = bert_json();
  const Tokenizer quick = load_json(json);
  json["added_tokens"].push_back({{"id", 21},
                                  {"content", "\U0001F9FFnever"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", true},
                                  {"special", false}});
  const Tokenizer general = load_json(json);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random, false);
    const Encoding a = quick.encode(text);
    const Encoding b = general.encode(text);
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.offsets, b.offsets);
  }
}

TEST(TokenizerTest, LongInputsTakeLinearTime) {
  const Tokenizer tokenizer = load_json(bert_json());
  std::string marks = "a";
  for (int i = 0; i < 25'000; ++i) marks += "\u0301\u0323";
  EXPECT_EQ(tokenizer.encode(marks, bare()).ids, Ids{10});
  EXPECT_EQ(tokenizer.encode(std::string(5'000'000, 'a'), bare()).ids, Ids{1});
  EXPECT_EQ(tokenizer.encode(std::string(200'000, '['), bare()).size(), 200'000u);
  std::string ideographs;
  for (int i = 0; i < 50'000; ++i) ideographs += "中";
  EXPECT_EQ(tokenizer.encode(ideographs, bare()).ids, Ids(50'000, 16));
}

TEST(TokenizerTest, SpacesAbsorbedTwiceTakeLinearTime) {
  nlohmann::json json = bert_json();
  json["added_tokens"].push_back({{"id", 21},
                                  {"content", " "},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", true},
                                  {"normalized", false},
                                  {"special", false}});
  const Encoding encoding = load_json(json).encode(std::string(200'000, ' '), bare());
  ASSERT_EQ(encoding.size(), 200'000u);  // the reference gives overlapping tokens here
  EXPECT_EQ(encoding.offsets[1], (Offset{1, 200'000}));
}

TEST(TokenizerTest, ThreadsShareOneTokenizer) {
  const Tokenizer tokenizer = load_json(bert_json());
  std::vector<std::thread> threads;
  std::vector<size_t> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        wrong[t] += tokenizer.encode("unaffable café").ids != Ids{2, 5, 6, 7, 14, 3};
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<size_t>(4));
}

TEST(TokenizerTest, MovedTokenizerWorks) {
  Tokenizer first = load_json(bert_json());
  Tokenizer second = std::move(first);
  EXPECT_EQ(second.encode("cat").ids, (Ids{2, 9, 3}));
}

TEST(ConvertOffsets, NeedNoOrder) {
  const std::string text = "é中😀x";
  std::vector<Offset> offsets = {{9, 10}, {0, 2}, {5, 9}, {0, 0}, {10, 10}};
  std::vector<Offset> utf16 = offsets;
  convert_offsets(text, OffsetUnit::kCodePoint, offsets);
  EXPECT_EQ(offsets, (std::vector<Offset>{{3, 4}, {0, 1}, {2, 3}, {0, 0}, {4, 4}}));
  convert_offsets(text, OffsetUnit::kUtf16, utf16);
  EXPECT_EQ(utf16, (std::vector<Offset>{{4, 5}, {0, 1}, {2, 4}, {0, 0}, {5, 5}}));
}

TEST(ConvertOffsets, AcrossManyBlocks) {
  std::string text;
  std::vector<Offset> offsets;
  for (int64_t i = 0; i < 1000; ++i) {
    offsets.push_back({static_cast<int64_t>(text.size()), static_cast<int64_t>(text.size())});
    text += i % 3 == 0 ? "a" : i % 3 == 1 ? "é" : "😀";
  }
  convert_offsets(text, OffsetUnit::kCodePoint, offsets);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(offsets[static_cast<size_t>(i)].begin, i);
}

TEST(ConvertOffsets, RefusesOthers) {
  for (const Offset bad : {Offset{1, 2}, Offset{0, 4}, Offset{-1, 0}}) {
    std::vector<Offset> offsets = {bad};
    EXPECT_THROW(convert_offsets("éa", OffsetUnit::kCodePoint, offsets), Error);
  }
}

TEST(TokenizerTest, HasTokenKnowsGaps) {
  nlohmann::json json = bert_json();
  json["model"]["vocab"]["far"] = 40;
  const Tokenizer tokenizer = load_json(json);
  EXPECT_TRUE(tokenizer.has_token(0));
  EXPECT_TRUE(tokenizer.has_token(40));
  EXPECT_EQ(tokenizer.vocabulary_size(), 41);
  for (const int64_t id : {int64_t{-1}, int64_t{39}, int64_t{41}, INT64_MAX, INT64_MIN}) {
    EXPECT_FALSE(tokenizer.has_token(id)) << id;
  }
}

// As BigBird has [MASK]: first a plain token of the raw text, then a special one of the normalised
// text. The reference finds it in both, with the flags given last; in the other order only in the
// normalised text.
TEST(TokenizerTest, TokenOfBothTexts) {
  nlohmann::json json = bert_json();
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "_"}}}, {"content", "[MASK]"}};
  json["pre_tokenizer"] = nullptr;
  json["post_processor"] = nullptr;
  json["model"] = {{"type", "WordLevel"},
                   {"vocab", {{"<unk>", 0}, {"a", 1}, {"[MASK]", 2}}},
                   {"unk_token", "<unk>"}};
  nlohmann::json plain = {{"id", 2},         {"content", "[MASK]"}, {"single_word", false},
                          {"lstrip", false}, {"rstrip", false},     {"normalized", false},
                          {"special", false}};
  nlohmann::json special = plain;
  special["special"] = special["normalized"] = special["lstrip"] = true;
  const auto expect = [&](const char* text, const std::vector<int64_t>& ids,
                          const std::vector<Offset>& offsets) {
    const Encoding got = load_json(json).encode(text);
    EXPECT_EQ(got.ids, ids) << text;
    EXPECT_EQ(got.offsets, offsets) << text;
  };
  json["added_tokens"] = {plain, special};
  expect("a_a", {1, 2, 1}, {{0, 1}, {1, 2}, {2, 3}});
  expect("a [MASK]a", {1, 2, 1}, {{0, 1}, {1, 8}, {8, 9}});
  expect(" _", {2}, {{0, 2}});
  json["added_tokens"] = {special, plain};
  expect("a_a", {1, 2, 1}, {{0, 1}, {1, 2}, {2, 3}});
  expect("a [MASK]a", {0, 2, 1}, {{0, 2}, {2, 8}, {8, 9}});
}

}  // namespace
}  // namespace longformer::text
