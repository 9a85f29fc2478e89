// Patterns as the reference matches them (tools/normalizer_goldens.py), and hostile ones.
#include "text/regex.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "longformer/error.h"
#include "support/expect_error.h"
#include "text/regex_syntax.h"

namespace longformer::text {
namespace {

std::vector<RegexMatch> find_all(const std::string& pattern, const std::string& text) {
  std::vector<RegexMatch> matches;
  RegexBudget budget(text.size());
  Regex(pattern, "model").find_all(text, matches, budget);
  return matches;
}

// The text with U+E000 in place of each match.
std::string marked(const std::string& pattern, const std::string& text) {
  std::string out;
  size_t at = 0;
  for (const RegexMatch& match : find_all(pattern, text)) {
    out += text.substr(at, match.begin - at) + "\uE000";
    at = match.end;
  }
  return out + text.substr(at);
}

TEST(RegexTest, MatchesAsTheReference) {
  std::ifstream file(std::string(LONGFORMER_TEST_DATA) + "/text/regex.jsonl");
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(marked(json["pattern"], json["text"]), json["marked"].get<std::string>()) << line;
  }
  EXPECT_GE(cases, 80);
}

TEST(RegexTest, EmptyMatchesStandNowhereBehindAnother) {
  EXPECT_EQ(marked("x*", "axxb"), "\uE000a\uE000b\uE000");
  EXPECT_TRUE(find_all("a", "").empty());
  const auto matches = find_all("(?=é)", "aéb");
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].begin, 1u);
  EXPECT_EQ(matches[0].end, 1u);
}

TEST(RegexTest, SpacesAreThoseOfTheReference) {
  EXPECT_TRUE(find_all(R"(\s)", "\u180E\u200B\x1C").empty());  // PCRE2 alone would take the first
  EXPECT_EQ(find_all(R"([\s])", "\u0085\u00A0\u2028\u3000").size(), 4u);
  EXPECT_EQ(find_all(R"([^\s])", "a \u180E").size(), 2u);
}

TEST(RegexTest, CharactersNewerThanTheLibraryHaveTheirCategory) {
  EXPECT_EQ(find_all(R"(\p{Lu}\p{Ll})", "\u1C89\u1C8A").size(), 1u);      // Unicode 16
  EXPECT_EQ(find_all(R"(\p{Han}+)", "\U0002EBF0\U00031350").size(), 1u);  // 15.1 and 15
}

TEST(RegexTest, TranslatesWhatOnlyTheReferenceSays) {
  EXPECT_EQ(to_pcre2_syntax("(?m:.)a{,3}", ""), "(?s:.)a{0,3}");
  EXPECT_EQ(to_pcre2_syntax("a(bc){2}+", ""), "a(?:(bc){2})+");
  EXPECT_EQ(to_pcre2_syntax("\\u00e9", ""), "\\x{00e9}");
  EXPECT_EQ(to_pcre2_syntax("(?<name>x)(?=y)(?<!z)", ""), "(?<name>x)(?=y)(?<!z)");
  for (const char* pattern : {"[a&&b]", "[a[^b]]", "[\\W]", "[[:^alpha:]]"}) {
    test::expect_error(ErrorCode::kUnsupported, {"model", "pattern"},
                       [&] { Regex(pattern, "model"); });
  }
}

TEST(RegexTest, RefusesWhatDoesNotCompile) {
  for (const char* pattern : {"(", "[", "a{2", "\\", "(?s)[", "\\p{NoSuch}", "(?<n", "[[:alpha",
                              "((a{1,1000}){1,1000}){1,1000}", "\\C"}) {
    if (std::string(pattern) == "a{2") continue;  // braces that bound nothing are characters
    test::expect_error(ErrorCode::kInvalidFile, {"model", "does not compile"},
                       [&] { Regex(pattern, "model"); });
  }
  test::expect_error(ErrorCode::kInvalidFile, {"longer than"},
                     [] { Regex(std::string(100'000, 'a'), "model"); });
  EXPECT_THROW(Regex(std::string(2000, '('), "model"), Error);
  EXPECT_THROW(Regex(std::string(2000, '['), "model"), Error);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Groups, repeats without groups (which compiled patterns do not count as steps), long looks ahead,
// back references, and very long repeats: the limit is 1.1 s for this text.
TEST(RegexTest, ExplosivePatternsEndWithAnErrorInTime) {
  const std::string text = std::string(100'000, 'a') + "b";
  for (const char* pattern :
       {"(a+)+$", "(?:a|aa)+$", "(a*)*$", "a*a*a*a*a*a*[cd]", ".*(?=.*c|.*d)[xy]", "(a*)a*\\1[cd]",
        "(?:a{1000}){1000}[cd]", "(?=(?:a{100}){0,900}[cd])a"}) {
    SCOPED_TRACE(pattern);
    const double start = thread_seconds();
    test::expect_error(ErrorCode::kInvalidFile, {"model", "limit"},
                       [&] { find_all(pattern, text); });
    EXPECT_LT(thread_seconds() - start, 2.0);
  }
}

TEST(RegexTest, HundredsOfPatternsShareTheTimeOfAText) {
  const Regex regex("a*a*a*[cd]", "model");
  const std::string text(2000, 'a');
  RegexBudget budget(100 * text.size());
  std::vector<RegexMatch> matches;
  const double start = thread_seconds();
  test::expect_error(ErrorCode::kInvalidFile, {"model", "limit"}, [&] {
    for (int i = 0; i < 100; ++i) regex.find_all(text, matches, budget);
  });
  EXPECT_LT(thread_seconds() - start, 2.5);
}

}  // namespace
}  // namespace longformer::text
