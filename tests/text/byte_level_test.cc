// A RoBERTa-like tokenizer through all its settings: what users of such models meet. Expected
// values are those of the reference tokenizer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "test_vocabulary.h"
#include "text/models/byte_alphabet.h"

namespace longformer::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;

// Specials 0-3, the alphabet from 4 on in code point order, merges from 260 on, <mask> last.
Json roberta_json(bool add_prefix_space) {
  Json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  std::vector<std::string> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    alphabet.emplace_back();
    byte_alphabet::append(std::string(1, static_cast<char>(byte)), alphabet.back());
  }
  std::sort(alphabet.begin(), alphabet.end());
  int id = 4;
  for (const std::string& character : alphabet) vocabulary[character] = id++;
  Json merges = Json::array();
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{
           {"Ġ", "a"}, {"Ġ", "b"}, {"Ã", "©"}, {"Ġ", "t"}, {"h", "e"}, {"Ġt", "he"}}) {
    merges.push_back(left + " " + right);
    vocabulary[left + right] = id++;
  }
  const auto added = [](int number, const char* content, bool lstrip) {
    return Json{{"id", number},     {"content", content}, {"single_word", false},
                {"lstrip", lstrip}, {"rstrip", false},    {"normalized", false},
                {"special", true}};
  };
  return {
      {"version", "1.0"},
      {"truncation",
       {{"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}, {"direction", "Right"}}},
      {"added_tokens",
       {added(0, "<s>", false), added(1, "<pad>", false), added(2, "</s>", false),
        added(3, "<unk>", false), added(266, "<mask>", true)}},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}}},
      {"post_processor",
       {{"type", "RobertaProcessing"},
        {"sep", {"</s>", 2}},
        {"cls", {"<s>", 0}},
        {"trim_offsets", true},
        {"add_prefix_space", add_prefix_space}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
}

std::vector<Offset> code_points(const std::string& text, const Encoding& encoding) {
  std::vector<Offset> offsets = encoding.offsets;
  convert_offsets(text, OffsetUnit::kCodePoint, offsets);
  return offsets;
}

TEST(ByteLevel, FirstOffsetStartsAtTheWord) {
  const Tokenizer with = load_json(roberta_json(true));
  const Encoding spaced = with.encode("the b");
  EXPECT_EQ(spaced.ids, (Ids{0, 265, 261, 2}));
  EXPECT_EQ(spaced.offsets, (std::vector<Offset>{{0, 0}, {0, 3}, {4, 5}, {0, 0}}));
  const Encoding plain = load_json(roberta_json(false)).encode("the b");
  EXPECT_EQ(plain.ids, (Ids{0, 87, 264, 261, 2}));
  EXPECT_EQ(plain.offsets, (std::vector<Offset>{{0, 0}, {0, 1}, {1, 3}, {4, 5}, {0, 0}}));
}

// Offsets stay true after accented letters and after mask tokens.
TEST(ByteLevel, OffsetsDoNotDrift) {
  const std::string text = "é a <mask> é the";
  const Encoding encoding = load_json(roberta_json(false)).encode(text);
  EXPECT_EQ(encoding.ids, (Ids{0, 262, 260, 266, 224, 262, 265, 2}));
  EXPECT_EQ(
      code_points(text, encoding),
      (std::vector<Offset>{{0, 0}, {0, 1}, {2, 3}, {4, 10}, {11, 11}, {11, 12}, {13, 16}, {0, 0}}));
  EXPECT_EQ(encoding.words, (std::vector<int32_t>{-1, 0, 1, 2, 3, 3, 4, -1}));
}

TEST(ByteLevel, WordLists) {
  const std::vector<std::string> words = {"the", "é", "the b"};
  const Encoding encoding =
      load_json(roberta_json(true)).encode(TextInput(std::span<const std::string>(words)));
  EXPECT_EQ(encoding.ids, (Ids{0, 265, 224, 262, 265, 261, 2}));
  EXPECT_EQ(encoding.words, (std::vector<int32_t>{-1, 0, 1, 1, 2, 2, -1}));
  EXPECT_EQ(encoding.offsets,
            (std::vector<Offset>{{0, 0}, {0, 3}, {0, 0}, {0, 2}, {0, 3}, {4, 5}, {0, 0}}));
}

TEST(ByteLevel, PairsHaveOneTypeAndTwoSeparators) {
  const Encoding pair = load_json(roberta_json(false)).encode_pair("the", "é b");
  EXPECT_EQ(pair.ids, (Ids{0, 87, 264, 2, 2, 262, 261, 2}));
  EXPECT_EQ(pair.type_ids, (Ids(8, 0)));
  EXPECT_EQ(pair.sequence, (std::vector<int8_t>{-1, 0, 0, -1, -1, 1, 1, -1}));
}

// The length that a file states cuts nothing; windows are made on request, and count special
// tokens.
TEST(ByteLevel, CutsOnlyOnRequest) {
  const Tokenizer tokenizer = load_json(roberta_json(false));
  const std::string text(100, 'x');
  EXPECT_EQ(tokenizer.encode(text).size(), 102u);
  EXPECT_EQ(tokenizer.encode_windows(text, std::nullopt, {}, {102}).size(), 1u);
  const std::vector<Encoding> windows = tokenizer.encode_windows(text, std::nullopt, {}, {32, 10});
  ASSERT_EQ(windows.size(), 5u);
  int64_t begin = 0;
  for (const Encoding& window : windows) {
    EXPECT_LE(window.size(), 32u);
    EXPECT_EQ(window.ids.front(), 0);
    EXPECT_EQ(window.ids.back(), 2);
    EXPECT_EQ(window.offsets[1].begin, begin);
    begin += 20;
  }
  EXPECT_EQ(windows.back().offsets[windows.back().size() - 2].end, 100);
}

// The first token of each window counts as the first of a text, as in the reference.
TEST(ByteLevel, WindowsTrimTheirOwnFirstToken) {
  const std::vector<Encoding> windows =
      load_json(roberta_json(true)).encode_windows("a b a", std::nullopt, {}, {4});
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].offsets, (std::vector<Offset>{{0, 0}, {0, 1}, {2, 3}, {0, 0}}));
  EXPECT_EQ(windows[1].offsets, (std::vector<Offset>{{0, 0}, {3, 5}, {0, 0}}));
}

TEST(ByteLevel, WithoutSpecialTokens) {
  EncodeSettings settings;
  settings.add_special_tokens = false;
  const Tokenizer tokenizer = load_json(roberta_json(false));
  EXPECT_EQ(tokenizer.encode("the", settings).ids, (Ids{87, 264}));
  EXPECT_EQ(tokenizer.encode_windows("the", std::nullopt, settings, {1}).size(), 2u);
  test::expect_error(ErrorCode::kInvalidArgument, {"leaves no room for text"},
                     [&] { tokenizer.encode_windows("the", std::nullopt, {}, {2}); });
}

TEST(ByteLevel, DecodesWhatItEncodes) {
  const Tokenizer tokenizer = load_json(roberta_json(false));
  std::string text = " The  fox\n\n's é\xF0\x9F\x98\x80 \xE2\x80\xA8 a\tb ";
  for (int byte = 1; byte < 128; ++byte) text += static_cast<char>(byte);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text).ids), text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xC3").ids), "a\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a").ids, false), "<s>a</s>");
  EXPECT_EQ(tokenizer.decode({0, 999'999, -1, 260}), " a");  // ids that no token has
}

}  // namespace
}  // namespace longformer::text
