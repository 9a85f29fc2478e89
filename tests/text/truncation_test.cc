// Windows of one text and of pairs: what the reference gave (tools/tokenizer_step_goldens.py), and
// what holds for any of them.
#include "text/truncation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/limits.h"
#include "support/expect_error.h"

namespace longformer::text {
namespace {

using Json = nlohmann::json;
using test::expect_error;

Truncation strategy(const std::string& name) {
  if (name == "only_first") return Truncation::kOnlyFirst;
  return name == "only_second" ? Truncation::kOnlySecond : Truncation::kLongestFirst;
}

std::vector<TextWindow> expected(const Json& windows) {
  std::vector<TextWindow> plan;
  for (const Json& w : windows) {
    plan.push_back({{w[0], w[1]}, {}});
    if (w.size() == 4) plan.back().second = {w[2], w[3]};
  }
  return plan;
}

TEST(Truncation, EqualsTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/truncation.jsonl");
  ASSERT_TRUE(file);
  size_t cases = 0;
  size_t refused = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    SCOPED_TRACE(line);
    const Json json = Json::parse(line);
    const TruncationSettings settings = {json[3], json[4], strategy(json[5]),
                                         json[6] == "left" ? Side::kLeft : Side::kRight};
    std::optional<int64_t> second;
    if (!json[1].is_null()) second = json[1].get<int64_t>();
    const auto plan = [&] { return plan_truncation(json[0], second, json[2], settings); };
    if (json[7].is_null()) {
      expect_error(ErrorCode::kInvalidArgument, {}, plan);
      ++refused;
    } else {
      EXPECT_EQ(plan(), expected(json[7]));
    }
  }
  EXPECT_EQ(cases, 300u);
  EXPECT_GT(refused, 30u);
  EXPECT_LT(refused, 150u);
}

// The odd token goes to the longer text, of equal ones to the second.
TEST(Truncation, OddTokens) {
  const auto rooms = [](int64_t first, int64_t second) {
    const TextWindow w = plan_truncation(first, second, 0, {27})[0];
    return std::pair(w.first.end, w.second.end);
  };
  EXPECT_EQ(rooms(30, 30), std::pair(int64_t{13}, int64_t{14}));
  EXPECT_EQ(rooms(31, 30), std::pair(int64_t{14}, int64_t{13}));
  EXPECT_EQ(rooms(30, 31), std::pair(int64_t{13}, int64_t{14}));
  EXPECT_EQ(rooms(5, 100), std::pair(int64_t{5}, int64_t{22}));
  EXPECT_EQ(rooms(100, 5), std::pair(int64_t{22}, int64_t{5}));
}

// The published example of question answering: 3 + 22 tokens in 24, 4 of them special.
TEST(Truncation, QuestionAndContext) {
  const std::vector<TextWindow> plan =
      plan_truncation(3, 22, 4, {24, 5, Truncation::kOnlySecond, Side::kRight});
  EXPECT_EQ(plan, (std::vector<TextWindow>{{{0, 3}, {0, 17}}, {{0, 3}, {12, 22}}}));
}

TEST(Truncation, WindowsCoverAllTokens) {
  std::mt19937 random(11);
  const auto number = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    const int64_t tokens = number(0, 200);
    const int64_t room = number(1, 60);
    const TruncationSettings settings = {room + 2, number(0, room - 1), Truncation::kLongestFirst,
                                         number(0, 1) == 0 ? Side::kLeft : Side::kRight};
    std::vector<TextWindow> plan = plan_truncation(tokens, std::nullopt, 2, settings);
    if (settings.side == Side::kLeft) std::reverse(plan.begin(), plan.end());
    ASSERT_EQ(plan.front().first.begin, 0);
    ASSERT_EQ(plan.back().first.end, tokens);
    for (size_t k = 0; k < plan.size(); ++k) {
      ASSERT_LE(plan[k].first.end - plan[k].first.begin, room);
      if (k > 0) {
        ASSERT_EQ(plan[k - 1].first.end - plan[k].first.begin, settings.stride);
      }
    }
  }
}

// Each token of one text meets each token of the other in some window.
TEST(Truncation, PairsOfWindowsCoverAllPairs) {
  std::mt19937 random(12);
  for (int i = 0; i < 200; ++i) {
    const int64_t first = 1 + static_cast<int64_t>(random() % 20);
    const int64_t second = 1 + static_cast<int64_t>(random() % 20);
    const int64_t budget = 2 + static_cast<int64_t>(random() % 30);
    std::vector<std::vector<bool>> met(static_cast<size_t>(first),
                                       std::vector<bool>(static_cast<size_t>(second)));
    for (const TextWindow& w : plan_truncation(first, second, 3, {budget + 3})) {
      ASSERT_LE(w.first.end - w.first.begin + w.second.end - w.second.begin, budget);
      for (int64_t a = w.first.begin; a < w.first.end; ++a) {
        for (int64_t b = w.second.begin; b < w.second.end; ++b) {
          met[static_cast<size_t>(a)][static_cast<size_t>(b)] = true;
        }
      }
    }
    for (const std::vector<bool>& row : met) {
      ASSERT_EQ(std::count(row.begin(), row.end(), true), second);
    }
  }
}

TEST(Truncation, RefusesWhatCannotBeMet) {
  const auto refuses = [](const std::string& part, int64_t first, std::optional<int64_t> second,
                          int64_t specials, const TruncationSettings& settings) {
    SCOPED_TRACE(part);
    expect_error(ErrorCode::kInvalidArgument, {part},
                 [&] { plan_truncation(first, second, specials, settings); });
  };
  refuses("leaves no room for text", 1, std::nullopt, 2, {2});
  refuses("allow at least 3", 1, std::nullopt, 2, {0});
  refuses("leaves no room for text", 1, std::nullopt, 2, {INT64_MIN});
  refuses("must lie in 0..1", 1, std::nullopt, 2, {4, 2});
  refuses("must lie in 0..1", 1, std::nullopt, 2, {4, -1});
  refuses("must lie in 0..", 1, std::nullopt, 2, {4, INT64_MAX});
  refuses("there is none", 9, std::nullopt, 2, {4, 0, Truncation::kOnlySecond});
  refuses("has only 3", 3, 9, 4, {10, 0, Truncation::kOnlyFirst});
  refuses("would lose all its tokens", 5, 5, 4, {5});
  refuses("choose a smaller stride", 5, 5, 4, {10, 3});
}

// Nothing to cut: strategy and lengths do not matter, nor does a length as large as files state.
TEST(Truncation, LeavesShortTextsAlone) {
  const std::vector<TextWindow> whole = {{{0, 5}, {}}};
  EXPECT_EQ(plan_truncation(5, std::nullopt, 2, {7, 4}), whole);
  EXPECT_EQ(plan_truncation(5, std::nullopt, 2, {INT64_MAX}), whole);
  EXPECT_EQ(plan_truncation(5, std::nullopt, 2, {7, 0, Truncation::kOnlySecond}), whole);
  EXPECT_EQ(plan_truncation(0, 0, 4, {5}), (std::vector<TextWindow>{{}}));
}

TEST(Truncation, BoundsTheWindows) {
  expect_error(ErrorCode::kInvalidArgument, {"windows", "smaller stride"}, [] {
    plan_truncation(1'000'000'000, std::nullopt, 0, {512, 511});
  });
  expect_error(ErrorCode::kInvalidArgument, {"windows"},
               [] { plan_truncation(INT64_MAX / 4, INT64_MAX / 4, 0, {2}); });
  EXPECT_EQ(plan_truncation(50'000'000, std::nullopt, 2, {512}).size(), 98'040u);
}

}  // namespace
}  // namespace longformer::text
