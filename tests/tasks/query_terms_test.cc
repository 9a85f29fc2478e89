#include "tasks/query_terms.h"

#include <gtest/gtest.h>

#include <random>

#include "io/collection/collection.h"

namespace longformer::tasks {
namespace {

std::vector<std::string> needles(const std::string& query) {
  std::vector<std::string> texts;
  for (const Needle& needle : parse_query(query).needles) texts.push_back(needle.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(QueryTerms, Identifiers) {
  EXPECT_EQ(needles("what does max_len do?"), Texts{"max_len"});
  EXPECT_EQ(needles("the std::vector and p->next"), (Texts{"std::vector", "p->next"}));
  EXPECT_EQ(needles("os.path.join (in getValue())"), (Texts{"os.path.join", "getValue"}));
  EXPECT_EQ(needles("set LC_ALL or $HOME, then utf8 and x86-64"),
            (Texts{"LC_ALL", "$HOME", "utf8", "x86-64"}));
  EXPECT_EQ(needles("use --color=auto, or -n"), (Texts{"--color=auto", "-n"}));
  EXPECT_EQ(needles("why EINTR? error 404"), (Texts{"EINTR", "404"}));
  EXPECT_EQ(needles("edit /etc/fstab and ~/notes"), (Texts{"/etc/fstab", "~/notes"}));
  EXPECT_EQ(needles("C++ or C#"), (Texts{"C++", "C#"}));
  EXPECT_EQ(needles("max_len max_len"), Texts{"max_len"});
}

TEST(QueryTerms, OrdinaryWordsAreNoIdentifiers) {
  for (const char* query :
       {"how do I get my rights back", "What is a window?", "and/or, e.g. this: that.", "in 2 days",
        "I am 42", "Anna's well-known book", "e.g. i.e. U.S.", "a - b -- c", "...", "",
        "Wo ist es?", "50 %", "A B C"}) {
    EXPECT_EQ(needles(query), Texts{}) << query;
  }
  // Who shouts names nothing.
  EXPECT_EQ(needles("HOW DO I STOP IT"), Texts{});
  EXPECT_EQ(needles("WHAT IS MAX_LEN"), Texts{"MAX_LEN"});
}

TEST(QueryTerms, QuotedPhrases) {
  EXPECT_EQ(needles("the \"red  hen\n runs\" now"), Texts{"red hen runs"});
  EXPECT_EQ(needles("\xE2\x80\x9Cred hen\xE2\x80\x9D"), Texts{"red hen"});
  EXPECT_EQ(needles("\"one\" and \"two\" max_len"), (Texts{"one", "two", "max_len"}));
  EXPECT_EQ(needles("\"never closed max_len"), Texts{"max_len"});
  EXPECT_EQ(needles("\"\" \" \" \"...\""), Texts{});
  EXPECT_EQ(needles("\"max_len\""), Texts{"max_len"});
}

TEST(QueryTerms, Words) {
  EXPECT_EQ(parse_query("The red-hot FOX, the fox").words,
            (Texts{"\"The\"", "\"red\"", "\"hot\"", "\"FOX\""}));
  EXPECT_EQ(parse_query("?! -").words, Texts{});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "w" + std::to_string(i) + " ";
  const QueryTerms terms = parse_query(many);
  EXPECT_EQ(terms.needles.size(), kMaxNeedles);
  EXPECT_EQ(terms.words.size(), kMaxQueryWords);
  EXPECT_EQ(terms.words.back(), "\"w127\"");
}

bool has(const std::string& text, const std::string& needle) {
  return contains(text, {needle, "", false});
}

TEST(QueryTerms, ContainsIsVerbatimAndWhole) {
  EXPECT_TRUE(has("set max_len to 3", "max_len"));
  EXPECT_FALSE(has("set max_lens", "max_len"));
  EXPECT_FALSE(has("kmax_len", "max_len"));
  EXPECT_TRUE(has("kmax_len and max_len", "max_len"));  // not the first place, but the second
  EXPECT_FALSE(has("MAX_LEN", "max_len"));
  EXPECT_TRUE(has("(max_len)", "max_len"));
  EXPECT_TRUE(has("--no, --color", "--no"));
  EXPECT_FALSE(has("--no-color", "--no"));
  EXPECT_TRUE(has("in C++, they", "C++"));
  EXPECT_TRUE(has("a red\n    hen", "red hen"));
  EXPECT_TRUE(has("a red\xC2\xA0hen", "red hen"));
  EXPECT_FALSE(has("a redhen", "red hen"));
  EXPECT_FALSE(has("a red ", "red hen"));
  EXPECT_TRUE(has("\xE4\xBD\xBF\xE7\x94\xA8HTTP\xE5\x8D\x8F", "HTTP"));
  EXPECT_EQ(longest_piece({"a longer b", "", false}), "longer");
}

TEST(QueryTerms, NothingThatAUserWritesIsASyntaxError) {
  io::Collection collection = io::Collection::temporary();
  collection.begin();
  io::CollectionPassage passage;
  passage.text = "NEAR the AND of OR, NOT a column: text * ^ fox";
  collection.add_passage(1, passage);
  const std::string pieces[] = {"\"", "'",  "*",    "^",   "NEAR(", ")",    "AND", "OR", "NOT", "-",
                                ":",  "\\", "text", "fox", "\xFF",  "\n",   "{",   "}",  "%",   ";",
                                "--", "_a", "a.b",  "+",   "é",     "中文", " ",   " "};
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string query;
    for (uint32_t k = random() % 8; k-- > 0;) query += pieces[random() % std::size(pieces)];
    const QueryTerms terms = parse_query(query);
    for (const std::string& word : terms.words) {
      collection.match(word, [](int64_t, double) {});
      collection.count_matches(word, 5);
    }
    for (const Needle& needle : terms.needles) {
      collection.match_texts(needle.expression, [](int64_t, const std::string&) {});
      // A text that is the needle has it, and the word index leads there.
      EXPECT_TRUE(contains(needle.text, needle)) << query;
    }
  }
}

}  // namespace
}  // namespace longformer::tasks
