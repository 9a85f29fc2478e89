// Normalisers beside what the reference gave (tools/normalizer_goldens.py): text and places.
#include "text/normalizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/expect_error.h"
#include "text/unicode/graphemes.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

using Json = nlohmann::json;

Json places_of(const std::string& text, const Characters& characters) {
  const auto code_points = [&](uint32_t end) {
    int count = 0;
    for (size_t at = 0; at < end; ++count) utf8::next(text, at);
    return count;
  };
  Json places = Json::array();
  for (const Character& c : characters) {
    places.push_back({code_points(c.begin), code_points(c.end)});
  }
  return places;
}

TEST(NormalizerSteps, EqualTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/normalizer_steps.jsonl");
  Normalizer normalizer;
  Json definition;
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    if (json.contains("normalizer")) {
      definition = json["normalizer"];
      normalizer = read_normalizer(definition, "model");
      continue;
    }
    ++cases;
    const auto text = json["text"].get<std::string>();
    Characters characters;
    append_characters(text, 0, characters);
    RegexBudget budget(text.size());
    normalizer.apply(characters, budget);
    EXPECT_EQ(normalizer.apply_to(text), json["result"].get<std::string>())
        << definition["type"] << line;
    EXPECT_EQ(places_of(text, characters), json["places"]) << definition["type"] << line;
  }
  EXPECT_GE(cases, 200);
}

TEST(NormalizerSteps, LocalForAscii) {
  const auto is_local = [](const Json& json) {
    return read_normalizer(json, "model").is_local_for_ascii();
  };
  EXPECT_TRUE(is_local({{"type", "Lowercase"}}));
  EXPECT_TRUE(is_local({{"type", "NFD"}}));
  EXPECT_FALSE(is_local({{"type", "NFC"}}));
  EXPECT_FALSE(is_local({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}));
  EXPECT_FALSE(is_local({{"type", "Prepend"}, {"prepend", "x"}}));
}

void expect_invalid(const Json& json, const std::string& part) {
  test::expect_error(ErrorCode::kInvalidFile, {"model", part},
                     [&] { read_normalizer(json, "model"); });
}

TEST(NormalizerSteps, RefusesBrokenDefinitions) {
  expect_invalid(Json::array(), "must be an object");
  expect_invalid({{"type", "Sequence"}}, "normalizers is missing");
  expect_invalid({{"type", "Strip"}, {"strip_left", 1}, {"strip_right", true}}, "true or false");
  expect_invalid({{"type", "Prepend"}}, "prepend is missing");
  expect_invalid({{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}},
                 "does not compile");
  expect_invalid({{"type", "Replace"}, {"pattern", Json::object()}, {"content", ""}}, "Regex");
  expect_invalid({{"type", "Precompiled"}, {"precompiled_charsmap", "%%%%"}}, "not base64");
  expect_invalid({{"type", "Precompiled"}, {"precompiled_charsmap", ""}}, "cut off");
  test::expect_error(ErrorCode::kUnsupported, {"model", "NoSuch", "Precompiled"}, [] {
    read_normalizer({{"type", "NoSuch"}}, "model");
  });
  Json many = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 300; ++i) many["normalizers"].push_back({{"type", "NFC"}});
  expect_invalid(many, "more than 256 steps");
}

TEST(NormalizerSteps, RefusesToBlowUpATextWithoutBound) {
  const Json replace = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  const Normalizer normalizer = read_normalizer(
      {{"type", "Sequence"}, {"normalizers", {replace, replace, replace}}}, "model");
  test::expect_error(ErrorCode::kInvalidFile, {"times as long"},
                     [&] { normalizer.apply_to("aaaa"); });
}

TEST(Graphemes, Clusters) {
  const auto clusters = [](const std::string& text) {
    Characters characters;
    append_characters(text, 0, characters);
    std::vector<size_t> lengths;
    for (size_t at = 0; at < characters.size();) {
      const size_t end = grapheme_end(characters, at);
      lengths.push_back(end - at);
      at = end;
    }
    return lengths;
  };
  using Lengths = std::vector<size_t>;
  EXPECT_EQ(clusters("ab\r\nc\n\r"), (Lengths{1, 1, 2, 1, 1, 1}));
  EXPECT_EQ(clusters("e\u0301\u0323x"), (Lengths{3, 1}));
  EXPECT_EQ(clusters("\n\u0301a"), (Lengths{1, 1, 1}));  // nothing joins a control character
  EXPECT_EQ(clusters("\u1100\u1161\u11A8\u1100\uAC00\u11A8\uAC01\u1161"), (Lengths{3, 3, 1, 1}));
  EXPECT_EQ(clusters("\U0001F468\u200D\U0001F469\U0001F469"), (Lengths{3, 1}));
  EXPECT_EQ(clusters("\u0915\u094D\u0937\u0915"), (Lengths{3, 1}));
  EXPECT_EQ(clusters("\u0600a\u0903b"), (Lengths{3, 1}));
}

}  // namespace
}  // namespace longformer::text
