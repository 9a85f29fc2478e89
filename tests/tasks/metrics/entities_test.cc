// Entities in tag sequences, by hand; tests/oracle/metrics_oracle.py compares with seqeval.
#include "tasks/metrics/entities.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace longformer::tasks {
namespace {

using Found = std::vector<Entity>;

TEST(EntityScores, LenientTakesMalformedOnesToo) {
  const auto find = [](const Tags& tags) { return find_entities(tags, TagScheme::kLenient); };
  EXPECT_EQ(find({"B-PER", "I-PER", "O", "B-LOC"}), (Found{{"PER", 0, 2}, {"LOC", 3, 4}}));
  EXPECT_EQ(find({"O", "I-PER", "I-PER"}), (Found{{"PER", 1, 3}}));
  EXPECT_EQ(find({"B-PER", "I-LOC"}), (Found{{"PER", 0, 1}, {"LOC", 1, 2}}));
  EXPECT_EQ(find({"B-PER", "B-PER"}), (Found{{"PER", 0, 1}, {"PER", 1, 2}}));
  EXPECT_EQ(find({"S-PER", "B-LOC", "E-LOC", "I-LOC"}),
            (Found{{"PER", 0, 1}, {"LOC", 1, 3}, {"LOC", 3, 4}}));
  EXPECT_EQ(find({"B", "I"}), (Found{{"_", 0, 2}}));
  EXPECT_EQ(find({"B-A-B", "I-A-B"}), (Found{{"A-B", 0, 2}}));
  EXPECT_EQ(find({}), Found{});
}

TEST(EntityScores, StrictSchemes) {
  EXPECT_EQ(find_entities({"I-PER", "B-PER", "I-PER", "I-LOC", "O"}, TagScheme::kIob2),
            (Found{{"PER", 1, 3}}));
  EXPECT_EQ(find_entities({"I-PER", "B-PER", "I-LOC", "O"}, TagScheme::kIob1),
            (Found{{"PER", 0, 1}, {"PER", 1, 2}, {"LOC", 2, 3}}));
  EXPECT_EQ(find_entities({"B-PER", "I-PER", "E-PER", "S-LOC", "B-LOC", "O"}, TagScheme::kIobes),
            (Found{{"PER", 0, 3}, {"LOC", 3, 4}}));
  EXPECT_EQ(find_entities({"B-PER", "L-PER", "U-LOC", "B-LOC", "I-LOC"}, TagScheme::kBilou),
            (Found{{"PER", 0, 2}, {"LOC", 2, 3}}));
  EXPECT_EQ(find_entities({"I-PER", "E-PER", "E-PER", "I-LOC"}, TagScheme::kIoe2),
            (Found{{"PER", 0, 2}, {"PER", 2, 3}}));
}

TEST(EntityScores, ReportByHand) {
  const std::vector<Tags> gold = {{"B-PER", "I-PER", "O", "B-LOC"}, {"B-LOC", "O"}};
  const std::vector<Tags> predicted = {{"B-PER", "O", "O", "B-LOC"}, {"B-LOC", "B-PER"}};
  const EntityReport report = entity_report(gold, predicted, TagScheme::kLenient);
  EXPECT_DOUBLE_EQ(report.accuracy, 4.0 / 6);
  EXPECT_EQ(report.types, (std::vector<std::string>{"LOC", "PER"}));
  EXPECT_DOUBLE_EQ(report.scores[0].f1, 1);
  EXPECT_DOUBLE_EQ(report.scores[1].f1, 0);
  EXPECT_DOUBLE_EQ(report.averages.micro.precision, 0.5);
  EXPECT_DOUBLE_EQ(report.averages.micro.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.averages.macro.f1, 0.5);
  EXPECT_DOUBLE_EQ(report.averages.weighted.f1, 2.0 / 3);
}

TEST(EntityScores, RefusesWhatDoesNotFit) {
  using Sequences = std::vector<Tags>;
  const auto report = [](const Sequences& gold, const Sequences& predicted, const char* scheme) {
    return entity_report(gold, predicted, tag_scheme(scheme));
  };
  test::expect_error(ErrorCode::kInvalidArgument, {"2 predicted sequences"}, [&] {
    report({{"O"}}, {{"O"}, {"O"}}, "lenient");
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"sequence 2"}, [&] {
    report({{"O"}, {"O"}}, {{"O"}, {"O", "O"}}, "lenient");
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"IOB2"},
                     [&] { report({{"O"}}, {{"S-PER"}}, "IOB2"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"token 1"},
                     [&] { report({{"O"}}, {{""}}, "lenient"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"nothing"}, [&] { report({}, {}, "lenient"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"IOBES"}, [&] { tag_scheme("BIOES"); });
}

}  // namespace
}  // namespace longformer::tasks
