// Rankings and masked tokens, by hand; tests/oracle/metrics_oracle.py compares with trec_eval.
#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "tasks/metrics/language.h"
#include "tasks/metrics/ranking.h"

namespace longformer::tasks {
namespace {

TEST(Retrieval, ByHand) {
  const Judgements judgements = {{"a", 2}, {"b", 1}, {"c", 0}, {"d", 1}, {"e", -1}};
  const std::vector<int64_t> cuts = {1, 3, 10};
  const RankingScores scores =
      ranking_scores(judgements, {{"c", 5}, {"b", 4}, {"x", 3}, {"a", 2}, {"e", 1}}, cuts);
  const double ideal3 = 2 + 1 / std::log2(3) + 1 / std::log2(4);
  EXPECT_DOUBLE_EQ(scores.mrr, 0.5);
  EXPECT_DOUBLE_EQ(scores.map, (1.0 / 2 + 2.0 / 4) / 3);
  EXPECT_DOUBLE_EQ(scores.ndcg, (1 / std::log2(3) + 2 / std::log2(5)) / ideal3);
  EXPECT_EQ(scores.cuts[0].ndcg, 0);
  EXPECT_EQ(scores.cuts[0].mrr, 0);
  EXPECT_DOUBLE_EQ(scores.cuts[1].ndcg, 1 / std::log2(3) / ideal3);
  EXPECT_DOUBLE_EQ(scores.cuts[1].recall, 1.0 / 3);
  EXPECT_DOUBLE_EQ(scores.cuts[1].map, 0.5 / 3);
  EXPECT_DOUBLE_EQ(scores.cuts[2].precision, 2.0 / 10);
  EXPECT_DOUBLE_EQ(scores.cuts[2].recall, 2.0 / 3);
}

TEST(Retrieval, TiesByNameDownwards) {
  const std::vector<int64_t> cuts = {1};
  EXPECT_EQ(ranking_scores({{"a", 1}}, {{"a", 1}, {"b", 1}}, cuts).mrr, 0.5);
  EXPECT_EQ(ranking_scores({{"b", 1}}, {{"a", 1}, {"b", 1}}, cuts).mrr, 1);
  // Equal as 32-bit floats.
  EXPECT_EQ(ranking_scores({{"a", 1}}, {{"a", 1 + 1e-12}, {"b", 1}}, cuts).mrr, 0.5);
}

TEST(Retrieval, NothingRelevantOrRetrieved) {
  const std::vector<int64_t> cuts = {5};
  for (const RankingScores& scores :
       {ranking_scores({{"a", 0}}, {{"a", 1}}, cuts), ranking_scores({{"a", 1}}, {}, cuts)}) {
    EXPECT_EQ(scores.ndcg + scores.map + scores.mrr, 0);
    EXPECT_EQ(scores.cuts[0].ndcg + scores.cuts[0].recall + scores.cuts[0].precision, 0);
  }
  const std::vector<RankingScores> two = {ranking_scores({{"a", 1}}, {{"a", 1}}, cuts),
                                          ranking_scores({{"a", 1}}, {}, cuts)};
  EXPECT_EQ(mean(two).mrr, 0.5);
  EXPECT_EQ(mean(two).cuts[0].precision, 0.1);
  test::expect_error(ErrorCode::kInvalidArgument, {"no query"}, [&] { mean({}); });
}

TEST(Language, BitsAndPerplexity) {
  const std::vector<double> halves = {std::log(0.5), std::log(0.125)};
  const LanguageScores scores = language_scores(halves);
  EXPECT_EQ(scores.tokens, 2);
  EXPECT_DOUBLE_EQ(scores.bits, 2);
  EXPECT_DOUBLE_EQ(scores.loss, 2 * std::log(2));
  EXPECT_DOUBLE_EQ(scores.perplexity, 4);
  test::expect_error(ErrorCode::kInvalidArgument, {"no masked token"},
                     [&] { language_scores({}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"above 0"},
                     [&] { language_scores(std::vector<double>{0.5}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"not a"},
                     [&] { language_scores(std::vector<double>{NAN}); });
}

TEST(Language, LogProbabilityOfLogits) {
  const std::vector<float> logits = {1000, 1000, 1000, 1000};
  EXPECT_DOUBLE_EQ(log_probability(logits, 2), -std::log(4.0));
  test::expect_error(ErrorCode::kInvalidArgument, {"token 4"}, [&] { log_probability(logits, 4); });
}

}  // namespace
}  // namespace longformer::tasks
