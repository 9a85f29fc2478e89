// Exact match and F1 of answers, by hand; tests/oracle/metrics_oracle.py has the official rules.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tasks/metrics/answer_text.h"
#include "tasks/metrics/squad.h"

namespace longformer::tasks {
namespace {

std::string squad(std::string_view text) { return normal_answer(text, AnswerRules::kSquad); }
std::string trivia(std::string_view text) { return normal_answer(text, AnswerRules::kTriviaQa); }

TEST(AnswerText, SquadRules) {
  EXPECT_EQ(squad("The  Eiffel-Tower, in A Park!"), "eiffeltower in park");
  EXPECT_EQ(squad("an apple a day"), "apple day");
  EXPECT_EQ(squad("theory of anodes"), "theory of anodes");  // articles are whole words
  EXPECT_EQ(squad("a-b a.c"), "ab ac");  // punctuation goes first, then there is no article
  EXPECT_EQ(squad("the"), "");
  EXPECT_EQ(squad("\u201Cthe\u201D end"), "\u201C \u201D end");  // other quotation marks stay
  EXPECT_EQ(squad("a\u0301 b"), "\u0301 b");                     // a mark is no letter: the a goes
  EXPECT_EQ(squad("x\u00A0y\u001Cz"), "x y z");                  // white space of str.split()
  EXPECT_EQ(squad("x\u200By"), "x\u200By");                      // not white space
}

TEST(AnswerText, LowerCaseOfPython) {
  EXPECT_EQ(squad("\u0130stanbul"), "i\u0307stanbul");
  EXPECT_EQ(squad("STRA\u1E9EE"), "stra\u00DFe");
  EXPECT_EQ(squad("\u039F\u0394\u039F\u03A3"), "\u03BF\u03B4\u03BF\u03C2");  // final sigma
  EXPECT_EQ(squad("\u03A3\u0391"), "\u03C3\u03B1");
  EXPECT_EQ(squad("\u03A3"), "\u03C3");                  // nothing in front
  EXPECT_EQ(squad("A\u03A3\u0301B"), "a\u03C3\u0301b");  // a mark between does not count
  EXPECT_EQ(squad("A\u03A3 B"), "a\u03C2 b");
}

TEST(AnswerText, TriviaRules) {
  EXPECT_EQ(trivia("The_Eiffel-Tower"), "eiffel tower");
  EXPECT_EQ(trivia("rock\u2019n\u2018roll\u00B4s `x`"), "rock n roll s x");
  EXPECT_EQ(trivia("A.N. Other"), "n other");  // punctuation becomes spaces: now A is an article
}

TEST(Squad1, BestAnswerCounts) {
  const std::vector<AnsweredQuestion> questions = {
      {{"the cat", "a black cat"}, "black cat", {}},  // exact
      {{"green eggs and ham"}, "eggs, green", {}},    // 2 of 2, 2 of 4: 2/3
      {{"the"}, "the", {}},                           // equal, no words: F1 0
      {{"x"}, std::nullopt, {}},                      // missing: 0
      {{"a b b c"}, "b b b", {}},                     // 2 of 3, 2 of 3 ("a" goes)
  };
  const AnswerScores scores = squad1_scores(questions);
  EXPECT_DOUBLE_EQ(scores.exact, 100 * 2.0 / 5);
  EXPECT_DOUBLE_EQ(scores.f1, 100 * (1 + 2.0 / 3 + 0 + 0 + 2.0 / 3) / 5);
  EXPECT_EQ(scores.total, 5);
  test::expect_error(ErrorCode::kInvalidArgument, {"no question"}, [&] { squad1_scores({}); });
  const std::vector<AnsweredQuestion> bad = {{{"x"}, "x", {}}, {{}, "", {}}};
  test::expect_error(ErrorCode::kInvalidArgument, {"question 2"}, [&] { squad1_scores(bad); });
}

TEST(Squad2, ThresholdsByHand) {
  const std::vector<AnsweredQuestion> questions = {
      {{"red fox"}, "red fox", 0.1},  // exact
      {{}, "hen", 0.6},               // wrong, unless unanswered
      {{}, "", 0.9},                  // right
      {{"old dog"}, "dog", 0.7},      // F1 2/3
      {{"the"}, "", 0.2},             // its normal form is empty: as if there were none
  };
  const Squad2Scores raw = squad2_scores(questions);
  EXPECT_DOUBLE_EQ(raw.all.exact, 60);
  EXPECT_DOUBLE_EQ(raw.all.f1, 100 * (1 + 0 + 1 + 2.0 / 3 + 1) / 5);
  EXPECT_EQ(raw.has_answer->total, 3);
  EXPECT_DOUBLE_EQ(raw.has_answer->exact, 100 * 2.0 / 3);
  EXPECT_DOUBLE_EQ(raw.no_answer->exact, 50);
  // Unanswered: 2 of 5. In the order 0.1 0.2 0.6 0.7 0.9: +1, +1, -1, +0, +0.
  EXPECT_DOUBLE_EQ(raw.best_exact->score, 80);
  EXPECT_DOUBLE_EQ(raw.best_exact->threshold, 0.2);
  EXPECT_DOUBLE_EQ(raw.best_f1->score, 80);
  const Squad2Scores cut =
      squad2_scores(questions, 0.5);  // the hen and the dog count as unanswered
  EXPECT_DOUBLE_EQ(cut.all.exact, 80);
  EXPECT_DOUBLE_EQ(cut.no_answer->f1, 100);
}

TEST(Squad2, NoProbabilitiesNoThreshold) {
  const std::vector<AnsweredQuestion> questions = {{{}, "", {}}, {{}, std::nullopt, {}}};
  const Squad2Scores scores = squad2_scores(questions);
  EXPECT_DOUBLE_EQ(scores.all.exact, 50);
  EXPECT_FALSE(scores.has_answer.has_value());
  EXPECT_FALSE(scores.best_exact.has_value());
  const std::vector<AnsweredQuestion> mixed = {{{}, "", 0.5}, {{}, "", {}}};
  test::expect_error(ErrorCode::kInvalidArgument, {"question 2"}, [&] { squad2_scores(mixed); });
}

TEST(TriviaQa, AliasesByHand) {
  const std::vector<AnsweredQuestion> questions = {
      {{"sunset blvd", "sunset boulevard"}, "Sunset_Boulevard", {}},
      {{"david seville"}, "Seville", {}}};
  const AnswerScores scores = trivia_scores(questions);
  EXPECT_DOUBLE_EQ(scores.exact, 50);
  EXPECT_DOUBLE_EQ(scores.f1, 100 * (1 + 2.0 / 3) / 2);
}

}  // namespace
}  // namespace longformer::tasks
