// The pre-tokenisers' cuts where a list of words says more than golden files: the published
// examples of the five behaviours, the GPT-2 scanner beside its pattern.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "longformer/error.h"
#include "text/gpt2_scanner.h"

namespace longformer::text {
namespace {

using Strings = std::vector<std::string>;

Strings cut(const Json& json, const std::string& text) {
  AlignedText aligned;
  aligned.set_original(text, 0);
  std::vector<WordRange> words;
  RegexBudget budget(aligned.text().size());
  read_pretokenizer(json, "model").apply(aligned, words, false, budget);
  Strings result;
  for (const WordRange& word : words) {
    result.emplace_back(aligned.text().substr(word.begin, word.end - word.begin));
  }
  return result;
}

TEST(PreTokenizer, FiveBehaviors) {
  const std::string text = "the-final--countdown";
  const auto split = [](const char* behavior) {
    return Json{{"type", "Split"},
                {"pattern", {{"String", "-"}}},
                {"behavior", behavior},
                {"invert", false}};
  };
  EXPECT_EQ(cut(split("Removed"), text), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(cut(split("Isolated"), text), (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut(split("MergedWithPrevious"), text), (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut(split("MergedWithNext"), text), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut(split("Contiguous"), text), (Strings{"the", "-", "final", "--", "countdown"}));
}

TEST(PreTokenizer, MetaspaceMovesSpacesIntoWords) {
  Json json = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "always"}};
  EXPECT_EQ(cut(json, "a  b "), (Strings{"_a", "_", "_b", "_"}));
  json["split"] = false;
  EXPECT_EQ(cut(json, "a b"), (Strings{"_a_b"}));
  json["prepend_scheme"] = "never";
  json["add_prefix_space"] = false;  // the older name of the same
  EXPECT_EQ(cut(json, "a b"), (Strings{"a_b"}));
}

TEST(PreTokenizer, BytesBecomeTheAlphabet) {
  const Json json = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
  EXPECT_EQ(cut(json, "a é\n"), (Strings{"Ġa", "ĠÃ©", "Ċ"}));
}

TEST(PreTokenizer, SpansPointToTheOriginal) {
  AlignedText text;
  text.set_original("é x", 10);
  std::vector<WordRange> words;
  const Json json = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
  RegexBudget budget(text.text().size());
  read_pretokenizer(json, "model").apply(text, words, false, budget);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(text.text(), "ĠÃ©Ġx");
  EXPECT_EQ(text.original(0, 2), (Offset{10, 12}));  // the added space stands where é is
  EXPECT_EQ(text.original(2, 4), (Offset{10, 12}));  // one of its bytes: the whole character
  EXPECT_EQ(text.original(words[1].begin, words[1].end), (Offset{12, 14}));
}

TEST(PreTokenizer, BrokenOnesAreRefused) {
  const auto expect = [](const Json& json, ErrorCode code, const std::string& part) {
    try {
      read_pretokenizer(json, "model");
      FAIL() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const ErrorCode invalid = ErrorCode::kInvalidFile;
  expect({{"type", "UnicodeScripts"}}, ErrorCode::kUnsupported, "\"UnicodeScripts\"");
  expect({{"type", "ByteLevel"}}, invalid, "trim_offsets is missing");
  expect({{"type", "FixedLength"}, {"length", 0u}}, invalid, "length must be at least 1");
  expect({{"type", "Metaspace"}, {"replacement", ""}}, invalid, "must be one character");
  expect({{"type", "Metaspace"}, {"replacement", "__"}}, invalid, "must be one character");
  expect({{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}, invalid,
         "always, first or never");
  expect({{"type", "Metaspace"}, {"replacement", "_"}, {"add_prefix_space", false}}, invalid,
         "contradicts");
  expect({{"type", "CharDelimiterSplit"}, {"delimiter", "ab"}}, invalid, "must be one character");
  expect({{"type", "Punctuation"}, {"behavior", "Cut"}}, invalid, "must be Removed");
  const Json split = {{"type", "Split"}, {"behavior", "Isolated"}, {"invert", false}};
  Json broken = split;
  broken["pattern"] = {{"String", ""}};
  expect(broken, ErrorCode::kUnsupported, "empty");
  broken["pattern"] = {{"Regex", "("}};
  expect(broken, invalid, "");
  Json steps = Json::array();
  for (int i = 0; i < 65; ++i) steps.push_back({{"type", "Whitespace"}});
  expect({{"type", "Sequence"}, {"pretokenizers", steps}}, invalid, "more than 64 steps");
}

std::string random_text(std::mt19937& random) {
  static const Strings kParts = {"a",      "B",      "é",      "中",     "1",  "²",    "Ⅷ",
                                 " ",      "  ",     "\n",     "\t",     "'s", "'",    "!",
                                 "\u0301", "\u00a0", "\u2028", "'re",    "'S", "\x1c", "😀",
                                 "\u200b", "\r\n",   "_",      "\u3000", "l",  "'ll"};
  std::string text;
  for (size_t n = random() % 24; n > 0; --n) text += kParts[random() % kParts.size()];
  return text;
}

TEST(Gpt2Scanner, EqualsItsPattern) {
  const Regex pattern{std::string(kGpt2Pattern), "model"};
  std::mt19937 random(5);
  std::vector<RegexMatch> matches;
  for (int round = 0; round < 5000; ++round) {
    const std::string text = random_text(random);
    RegexBudget budget(text.size());
    pattern.find_all(text, matches, budget);
    size_t at = 0;
    for (const RegexMatch& match : matches) {
      ASSERT_EQ(match.begin, at) << text;
      at = next_gpt2_match(text, at);
      ASSERT_EQ(match.end, at) << text;
    }
    ASSERT_EQ(at, text.size()) << text;
  }
}

}  // namespace
}  // namespace longformer::text
