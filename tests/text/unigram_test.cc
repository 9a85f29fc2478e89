// The Unigram model: values of the reference library for small vocabularies.
#include "text/models/unigram.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/limits.h"
#include "support/expect_error.h"

namespace longformer::text {
namespace {

struct Result {
  std::vector<int32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> spans;
};

Result encode(const Unigram& model, const std::string& word) {
  Unigram::Scratch scratch;
  std::vector<Piece> pieces = {{7, 7, 7}};  // what was there goes
  model.encode(word, pieces, scratch);
  Result result;
  for (const Piece& piece : pieces) {
    result.ids.push_back(piece.id);
    result.spans.emplace_back(piece.begin, piece.end);
  }
  return result;
}

using Ids = std::vector<int32_t>;
using Spans = std::vector<std::pair<uint32_t, uint32_t>>;

UnigramSpec spec(std::vector<std::pair<std::string, double>> pieces) {
  return {std::move(pieces), 0, false};
}

TEST(UnigramTest, TheHighestSumWins) {
  const Unigram model(spec({{"<unk>", 0},
                            {"a", 0},
                            {"b", 0},
                            {"c", 0},
                            {"d", 0},
                            {"cd", 1},
                            {"ab", 2},
                            {"abc", 5},
                            {"abcd", 10}}),
                      "model");
  EXPECT_EQ(encode(model, "abcdacdxx").ids, (Ids{8, 1, 5, 0}));
  EXPECT_EQ(encode(model, "abcdacdxx").spans, (Spans{{0, 4}, {4, 5}, {5, 7}, {7, 9}}));
  EXPECT_TRUE(encode(model, "").ids.empty());
  EXPECT_EQ(model.id("cd"), 5);
  EXPECT_EQ(model.id("zz"), -1);
  EXPECT_EQ(model.size(), 9u);
}

TEST(UnigramTest, EqualScoresGiveTheLongestPieceFromTheRight) {
  const Unigram model(spec({{"<unk>", 0}, {"a", 0}, {"b", 0}, {"c", 0}, {"ab", 0}, {"bc", 0}}),
                      "model");
  EXPECT_EQ(encode(model, "abc").ids, (Ids{1, 5}));
  EXPECT_EQ(encode(model, "abab").ids, (Ids{4, 4}));
}

TEST(UnigramTest, UnknownCharactersFuse) {
  const Unigram model(spec({{"<unk>", 0}, {"a", -1}, {"éx", -1}}), "model");
  EXPECT_EQ(encode(model, "中文a中").ids, (Ids{0, 1, 0}));
  EXPECT_EQ(encode(model, "中文a中").spans, (Spans{{0, 6}, {6, 7}, {7, 10}}));
  EXPECT_EQ(encode(model, "é").ids, (Ids{0}));
  EXPECT_EQ(encode(model, "éxa").ids, (Ids{2, 1}));
  // The unknown token spelled out joins its neighbours.
  EXPECT_EQ(encode(model, "z<unk>a").ids, (Ids{0, 1}));
  EXPECT_EQ(encode(model, "z<unk>a").spans, (Spans{{0, 6}, {6, 7}}));
}

TEST(UnigramTest, UnknownCharactersThatSpellAPieceAreThatPiece) {
  // Two unknown steps (90 each) beat the piece of both characters (100).
  const Unigram model(spec({{"<unk>", 200}, {"xy", 100}, {"a", 150}}), "model");
  EXPECT_EQ(encode(model, "xy").ids, (Ids{1}));
  EXPECT_EQ(encode(model, "xyx").ids, (Ids{0}));
}

UnigramSpec with_bytes(uint32_t count) {
  UnigramSpec result = spec({{"<unk>", 0}, {"a", -1}});
  const char* digits = "0123456789ABCDEF";
  for (uint32_t byte = 0; byte < count; ++byte) {
    result.pieces.emplace_back(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">",
                               -9);
  }
  result.byte_fallback = true;
  return result;
}

TEST(UnigramTest, BytesStandForUnknownCharacters) {
  const Unigram model(with_bytes(256), "model");
  EXPECT_EQ(encode(model, "aéz").ids, (Ids{1, 2 + 0xC3, 2 + 0xA9, 2 + 'z'}));
  EXPECT_EQ(encode(model, "aéz").spans, (Spans{{0, 1}, {1, 4}, {1, 4}, {1, 4}}));
  // One byte without a piece: the whole run is unknown.
  EXPECT_EQ(encode(Unigram(with_bytes(0xC3), "model"), "aéz").ids, (Ids{1, 0}));
  EXPECT_EQ(encode(Unigram(with_bytes(0xC3), "model"), "az").ids, (Ids{1, 2 + 'z'}));
}

TEST(UnigramTest, OfEqualPiecesTheLastCounts) {
  const Unigram model(spec({{"<unk>", 0}, {"a", 5}, {"b", 0}, {"ab", 3}, {"a", 0}}), "model");
  EXPECT_EQ(model.id("a"), 4);
  EXPECT_EQ(encode(model, "ab").ids, (Ids{3}));
}

TEST(UnigramTest, WithoutAnUnknownTokenAnUnknownCharacterIsAnError) {
  const Unigram model({{{"a", 0.0}, {"ab", 1.0}}, std::nullopt, false}, "model");
  EXPECT_EQ(encode(model, "aab").ids, (Ids{0, 1}));  // b alone is never needed
  test::expect_error(ErrorCode::kInvalidFile, {"model", "unk_id"}, [&] { encode(model, "ac"); });
}

TEST(UnigramTest, LongWordsTakeLinearTime) {
  const Unigram model(spec({{"<unk>", 0}, {"a", -1}, {"aa", -1.5}, {"aaa", -2}}), "model");
  EXPECT_EQ(encode(model, std::string(3'000'000, 'a')).ids.size(), 1'000'000u);
  EXPECT_EQ(encode(model, std::string(1'000'000, 'x')).ids, (Ids{0}));
}

TEST(UnigramTest, RefusesWhatCannotBeScored) {
  const auto refuse = [](const UnigramSpec& broken, const std::string& part) {
    test::expect_error(ErrorCode::kInvalidFile, {"model", part}, [&] { Unigram(broken, "model"); });
  };
  refuse(spec({{"<unk>", std::numeric_limits<double>::quiet_NaN()}}), "not a finite number");
  refuse(spec({{"<unk>", std::numeric_limits<double>::infinity()}}), "not a finite number");
  refuse(spec({}), "unk_id");
  refuse({{{"a", 0.0}}, 1, false}, "unk_id");
  refuse({{{"a", 0.0}}, -1, false}, "unk_id");
  refuse(spec({{std::string(kMaxTokenBytes + 1, 'a'), 0.0}}), "longer than");
  // Sums beyond the largest number: no crash, some segmentation.
  const Unigram huge(spec({{"<unk>", 0}, {"a", 1.7e308}, {"b", -1.7e308}}), "model");
  EXPECT_EQ(encode(huge, "aabbab").ids.size(), 6u);
}

}  // namespace
}  // namespace longformer::text
