// Byte pair encoding on its own: order of merges, unknown characters, long words, the cache.
#include "text/models/bpe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "longformer/error.h"
#include "text/models/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

BpeSpec spec_of(const std::vector<std::string>& tokens,
                const std::vector<std::pair<std::string, std::string>>& merges) {
  BpeSpec spec;
  for (const std::string& token : tokens) {
    spec.vocabulary.emplace_back(token, static_cast<int32_t>(spec.vocabulary.size()));
  }
  spec.merges = merges;
  return spec;
}

// "token@begin-end" for each piece.
std::vector<std::string> pieces(const BpeSpec& spec, std::string_view word) {
  const Bpe bpe(spec, "model");
  Bpe::Scratch scratch;
  std::vector<Piece> out;
  bpe.encode(word, out, scratch);
  std::vector<std::string> result;
  for (const Piece& piece : out) {
    result.push_back(spec.vocabulary[static_cast<size_t>(piece.id)].first + "@" +
                     std::to_string(piece.begin) + "-" + std::to_string(piece.end));
  }
  return result;
}

using Strings = std::vector<std::string>;

TEST(Bpe, LowestRankFirstThenLeftmost) {
  const BpeSpec spec =
      spec_of({"a", "b", "c", "bc", "ab", "abc", "aa"}, {{"b", "c"}, {"a", "b"}, {"a", "a"}});
  EXPECT_EQ(pieces(spec, "abc"), (Strings{"a@0-1", "bc@1-3"}));
  EXPECT_EQ(pieces(spec, "aaaaa"), (Strings{"aa@0-2", "aa@2-4", "a@4-5"}));
  EXPECT_EQ(pieces(spec, "ab"), (Strings{"ab@0-2"}));
  EXPECT_EQ(pieces(spec, ""), Strings{});
}

TEST(Bpe, OfEqualMergesTheLastRankCounts) {
  const BpeSpec spec = spec_of({"a", "b", "c", "bc", "ab"}, {{"a", "b"}, {"b", "c"}, {"a", "b"}});
  EXPECT_EQ(pieces(spec, "abc"), (Strings{"a@0-1", "bc@1-3"}));
}

TEST(Bpe, UnknownCharacters) {
  BpeSpec spec = spec_of({"<unk>", "a", "<0xC3>", "<0xA9>"}, {});
  EXPECT_EQ(pieces(spec, "xa"), (Strings{"a@0-1"}));  // dropped: its bytes do not count either
  spec.unknown_token = "<unk>";
  EXPECT_EQ(pieces(spec, "xya中"), (Strings{"<unk>@0-1", "<unk>@1-2", "a@2-3", "<unk>@3-6"}));
  spec.fuse_unknown = true;
  EXPECT_EQ(pieces(spec, "xya中"), (Strings{"<unk>@0-2", "a@2-3", "<unk>@3-6"}));
  spec.byte_fallback = true;
  EXPECT_EQ(pieces(spec, "aéx"), (Strings{"a@0-1", "<0xC3>@1-2", "<0xA9>@2-3", "<unk>@3-4"}));
}

TEST(Bpe, MissingUnknownTokenIsAnErrorOnlyWhereItIsNeeded) {
  BpeSpec spec = spec_of({"a"}, {});
  spec.unknown_token = "<unk>";
  EXPECT_EQ(pieces(spec, "aa"), (Strings{"a@0-1", "a@1-2"}));
  EXPECT_THROW(pieces(spec, "ab"), Error);
}

TEST(Bpe, PrefixAndSuffix) {
  BpeSpec spec = spec_of({"a", "##b", "##b</w>", "ab", "ab</w>"}, {{"a", "##b"}, {"a", "##b</w>"}});
  spec.continuing_prefix = "##";
  spec.word_suffix = "</w>";
  EXPECT_EQ(pieces(spec, "ab"), (Strings{"ab</w>@0-2"}));
  EXPECT_EQ(pieces(spec, "abb"), (Strings{"ab@0-2", "##b</w>@2-3"}));
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  BpeSpec spec = spec_of({"a", "b", "abab"}, {});
  spec.ignore_merges = true;
  EXPECT_EQ(pieces(spec, "abab"), (Strings{"abab@0-4"}));
  EXPECT_EQ(pieces(spec, "aba"), (Strings{"a@0-1", "b@1-2", "a@2-3"}));
}

TEST(Bpe, MergesOfUnknownTokensAreRefused) {
  for (const auto& merge : {std::pair{"a", "x"}, {"x", "a"}, {"b", "a"}}) {
    try {
      pieces(spec_of({"a", "b", "ab"}, {{"a", "b"}, merge}), "a");
      FAIL() << merge.first;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      EXPECT_NE(std::string(error.what()).find("model: merge 2 "), std::string::npos);
    }
  }
  BpeSpec spec = spec_of({"a", "b", "ab"}, {{"a", "b"}});
  spec.continuing_prefix = "##";
  EXPECT_THROW(pieces(spec, "a"), Error);
  spec.continuing_prefix = std::string(33, '#');
  spec.merges.clear();
  EXPECT_THROW(pieces(spec, "a"), Error);
}

BpeSpec byte_spec() {
  BpeSpec spec;
  for (int b = 0; b < 256; ++b) {
    std::string token;
    utf8::append(byte_alphabet::character(static_cast<uint8_t>(b)), token);
    spec.vocabulary.emplace_back(token, b);
  }
  std::mt19937 random(7);
  std::vector<std::string> known;
  for (char c = 'a'; c <= 'e'; ++c) known.emplace_back(1, c);
  while (known.size() < 120) {
    const std::string& left = known[random() % known.size()];
    const std::string& right = known[random() % known.size()];
    if (left.size() + right.size() > 12) continue;
    const std::string joined = left + right;
    spec.merges.emplace_back(left, right);
    if (std::find(known.begin(), known.end(), joined) != known.end()) continue;
    known.push_back(joined);
    spec.vocabulary.emplace_back(joined, static_cast<int32_t>(spec.vocabulary.size()));
  }
  return spec;
}

// The rule as the specification words it, one merge of all occurrences of a pair at a time.
std::vector<std::string> slow(const BpeSpec& spec, const std::string& word) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.emplace_back(1, c);
  const auto rank = [&](size_t i) {
    size_t found = SIZE_MAX;
    for (size_t r = 0; r < spec.merges.size(); ++r) {
      if (spec.merges[r].first == symbols[i] && spec.merges[r].second == symbols[i + 1]) found = r;
    }
    return found;
  };
  while (true) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) best = std::min(best, rank(i));
    if (best == SIZE_MAX) return symbols;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (rank(i) != best) continue;
      symbols[i] += symbols[i + 1];
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(i) + 1);
    }
  }
}

TEST(Bpe, EqualsTheRuleForShortAndLongWordsWithAndWithoutCache) {
  const BpeSpec spec = byte_spec();
  const Bpe bpe(spec, "model");
  ASSERT_TRUE(bpe.spells_bytes());
  std::mt19937 random(11);
  Bpe::Scratch scratch;
  scratch.cache.reset(1000);
  std::vector<Piece> out;
  std::vector<std::string> words;
  for (int i = 0; i < 60; ++i) {
    std::string word;
    for (size_t n = 1 + random() % (i % 4 == 0 ? 90 : 9); n > 0; --n) {
      word += static_cast<char>('a' + random() % 5);
    }
    words.push_back(word);
  }
  for (int i = 0; i < 300; ++i) {
    const std::string& word = words[random() % words.size()];
    bpe.encode_bytes(word, out, scratch);
    std::vector<std::string> got;
    for (const Piece& piece : out) {
      got.push_back(word.substr(piece.begin, piece.end - piece.begin));
      EXPECT_EQ(spec.vocabulary[static_cast<size_t>(piece.id)].first, got.back());
    }
    EXPECT_EQ(got, slow(spec, word));
  }
}

// From the left, pairs of an odd run leave over its last symbol. Words on both sides of the length
// from which on a queue takes the place of the scan, and one with an unknown character, which makes
// even a short word take the queue.
TEST(Bpe, OfEqualRanksTheLeftmostGoesFirst) {
  BpeSpec spec = spec_of({"<unk>", "a", "aa", "aaaa"}, {{"a", "a"}, {"aa", "aa"}});
  spec.unknown_token = "<unk>";
  for (const size_t length : {7u, 39u, 41u, 63u, 1001u}) {
    const std::string word(length, 'a');
    std::vector<std::string> want;
    size_t at = 0;
    for (const size_t step : {4u, 2u, 1u}) {
      for (; at + step <= length; at += step) {
        want.push_back(spec.vocabulary[step == 4 ? 3 : step].first + "@" + std::to_string(at) +
                       "-" + std::to_string(at + step));
      }
    }
    EXPECT_EQ(pieces(spec, word), want);
    want.push_back("<unk>@" + std::to_string(length) + "-" + std::to_string(length + 1));
    EXPECT_EQ(pieces(spec, word + "x"), want);
  }
}

TEST(Bpe, BytesAreTheAlphabet) {
  const Bpe bpe(byte_spec(), "model");
  Bpe::Scratch scratch;
  std::vector<Piece> out;
  std::string word;
  for (int b = 255; b >= 0; --b) word += static_cast<char>(b);
  word.resize(128);  // 0xFF..0x80: no letters, so nothing merges
  bpe.encode_bytes(word, out, scratch);
  ASSERT_EQ(out.size(), word.size());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].id, static_cast<uint8_t>(word[i]));
}

TEST(Bpe, AMegabyteWithoutSpacesIsOneQuickWord) {
  BpeSpec spec = byte_spec();
  for (int length = 1; length < 2048; length *= 2) {  // a merge loop over ever longer runs of x
    const std::string half(static_cast<size_t>(length), 'x');
    spec.merges.emplace_back(half, half);
    spec.vocabulary.emplace_back(half + half, static_cast<int32_t>(spec.vocabulary.size()));
  }
  const Bpe bpe(spec, "model");
  Bpe::Scratch scratch;
  std::vector<Piece> out;
  const auto start = std::chrono::steady_clock::now();
  bpe.encode_bytes(std::string((1 << 20) - 1, 'x'), out, scratch);
  EXPECT_EQ(out.size(), (1u << 20) / 2048 - 1 + 11);
  // A quadratic loop takes hours.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ByteAlphabet, RoundTripOfAllBytes) {
  std::vector<char32_t> seen;
  for (int b = 0; b < 256; ++b) {
    const char32_t c = byte_alphabet::character(static_cast<uint8_t>(b));
    EXPECT_EQ(byte_alphabet::byte(c), b);
    seen.push_back(c);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(byte_alphabet::character(0x00), 0x100u);
  EXPECT_EQ(byte_alphabet::character(0x0A), 0x10Au);
  EXPECT_EQ(byte_alphabet::character(0x20), 0x120u);
  EXPECT_EQ(byte_alphabet::character(0x7F), 0x121u);
  EXPECT_EQ(byte_alphabet::character(0xAD), 0x143u);
  EXPECT_EQ(byte_alphabet::byte(0x144), -1);
  EXPECT_EQ(byte_alphabet::byte(U' '), -1);
  EXPECT_EQ(byte_alphabet::byte(0x10FFFF), -1);
}

}  // namespace
}  // namespace longformer::text
