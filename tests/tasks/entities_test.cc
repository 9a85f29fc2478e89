// Which labels make an entity, which tokens a word: by hand, after the reference's documentation
// and code.
#include "tasks/entities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace longformer::tasks {
namespace {

using Labels = std::vector<std::string>;

// "PER 0-2": the entities of units with these labels, one letter behind the other.
Labels entities(const Labels& sequence, LabelScheme scheme) {
  Labels names;
  std::vector<LabelledTokens> units;
  for (const std::string& label : sequence) {
    auto found = std::find(names.begin(), names.end(), label);
    if (found == names.end()) found = names.insert(names.end(), label);
    const size_t at = units.size();
    units.push_back({at, at + 1, static_cast<size_t>(found - names.begin()), 0.5f});
  }
  const LabelRules rules(names, scheme);
  Labels result;
  for (const LabelGroup& group : group_labels(units, rules)) {
    result.push_back(rules.name(units[group.begin].label) + " " + std::to_string(group.begin) +
                     "-" + std::to_string(group.end));
  }
  return result;
}

Labels bio(const Labels& sequence) { return entities(sequence, LabelScheme::kBio); }
Labels bioes(const Labels& sequence) { return entities(sequence, LabelScheme::kBioes); }

TEST(Entities, BioIsTheReferences) {
  // The example of its documentation.
  EXPECT_EQ(bio({"B-TAG", "I-TAG", "I-TAG", "B-TAG2", "B-TAG2"}),
            (Labels{"TAG 0-3", "TAG2 3-4", "TAG2 4-5"}));
  EXPECT_EQ(bio({"O", "O", "I-PER", "I-PER", "B-PER", "I-LOC", "O"}),
            (Labels{"O 0-2", "PER 2-4", "PER 4-5", "LOC 5-6", "O 6-7"}));
  // Labels without a prefix go on, with the labels that have one too.
  EXPECT_EQ(bio({"PER", "PER", "LOC", "I-LOC", "LOC", "B-LOC"}),
            (Labels{"PER 0-2", "LOC 2-5", "LOC 5-6"}));
  // Prefixes that it does not know are part of the tag, but not of the name.
  EXPECT_EQ(bio({"B-PER", "E-PER", "S-PER", "S-PER"}), (Labels{"PER 0-1", "PER 1-2", "PER 2-4"}));
  EXPECT_EQ(bio({"date-time", "date-time", "B-x-y", "I-x-y"}), (Labels{"time 0-2", "x-y 2-4"}));
}

TEST(Entities, BioTakesOddLabels) {
  EXPECT_EQ(bio({"B", "B", "-", "-"}), (Labels{"B 0-2", " 2-4"}));
  EXPECT_EQ(bio({"B-", "I-", "I-", "B-"}), (Labels{" 0-3", " 3-4"}));
  EXPECT_EQ(bio({"", "", "I-"}), (Labels{" 0-3"}));
  EXPECT_EQ(bio({"B-é", "I-é"}), (Labels{"é 0-2"}));
  EXPECT_EQ(bio({}), (Labels{}));
}

TEST(Entities, BioesKnowsEndsAndSingles) {
  EXPECT_EQ(bioes({"B-PER", "I-PER", "E-PER", "S-PER", "S-PER", "O"}),
            (Labels{"PER 0-3", "PER 3-4", "PER 4-5", "O 5-6"}));
  EXPECT_EQ(bioes({"B-PER", "L-PER", "U-LOC", "B-LOC", "I-LOC", "L-LOC"}),
            (Labels{"PER 0-2", "LOC 2-3", "LOC 3-6"}));
  EXPECT_EQ(bioes({"B-PER", "M-PER", "M-PER", "E-PER"}), (Labels{"PER 0-4"}));
}

TEST(Entities, BioesRepairsWhatIsMalformed) {
  // What follows an end or a single begins anew.
  EXPECT_EQ(bioes({"E-PER", "I-PER", "E-PER", "E-PER"}), (Labels{"PER 0-1", "PER 1-3", "PER 3-4"}));
  EXPECT_EQ(bioes({"S-PER", "I-PER", "S-PER"}), (Labels{"PER 0-1", "PER 1-2", "PER 2-3"}));
  // No begin, no end, another type in between.
  EXPECT_EQ(bioes({"I-PER", "I-PER", "O", "B-PER", "B-PER", "E-LOC"}),
            (Labels{"PER 0-2", "O 2-3", "PER 3-4", "PER 4-5", "LOC 5-6"}));
  EXPECT_EQ(bioes({"O", "O", "PER", "PER"}), (Labels{"O 0-2", "PER 2-4"}));
}

TEST(Entities, TheSchemeIsToldFromTheLabels) {
  EXPECT_EQ(detect_scheme(Labels{"O", "B-PER", "I-PER"}), LabelScheme::kBio);
  EXPECT_EQ(detect_scheme(Labels{"O", "I-PER", "B-LOC"}), LabelScheme::kBio);
  EXPECT_EQ(detect_scheme(Labels{"PER", "LOC"}), LabelScheme::kBio);
  EXPECT_EQ(detect_scheme(Labels{"O", "B-PER", "I-PER", "E-PER", "S-PER"}), LabelScheme::kBioes);
  EXPECT_EQ(detect_scheme(Labels{"O", "B-PER", "I-PER", "L-PER", "U-PER"}), LabelScheme::kBioes);
  EXPECT_EQ(detect_scheme(Labels{"S-PER", "I-PER"}), LabelScheme::kBioes);
  // A plain label that looks like a prefix.
  EXPECT_EQ(detect_scheme(Labels{"O", "B-PER", "I-PER", "E-mail"}), LabelScheme::kBio);
  EXPECT_EQ(detect_scheme(Labels{"B", "-", "", "E-", "S"}), LabelScheme::kBio);
  EXPECT_EQ(detect_scheme(Labels{}), LabelScheme::kBio);
}

TEST(Entities, ScoresAreMeansAndUnitsWithoutALabelPart) {
  const LabelRules rules(Labels{"O", "I-PER"}, LabelScheme::kBio);
  const std::vector<LabelledTokens> units = {
      {0, 1, 1, 0.5f}, {1, 3, 1, 0.25f}, {3, 3, kNoLabel, 0.0f}, {3, 4, 1, 0.75f}};
  const std::vector<LabelGroup> groups = group_labels(units, rules);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].end, 2u);
  EXPECT_DOUBLE_EQ(groups[0].score, 0.375);
  EXPECT_EQ(groups[1].begin, 3u);
  EXPECT_DOUBLE_EQ(groups[1].score, 0.75);
}

// micro|soft| com|pany, two words of two tokens.
class Words : public testing::Test {
 protected:
  Words() : scores_(4, 3, true) {
    scores_.set(0, std::vector<double>{0.3, 0.6, 0.1});
    scores_.set(1, std::vector<double>{0.8, 0.1, 0.1});
    scores_.set(2, std::vector<double>{0.2, 0.4, 0.4});
    scores_.set(3, std::vector<double>{0.1, 0.3, 0.6});
  }
  std::vector<LabelledTokens> label(Aggregation aggregation) const {
    return label_tokens(scores_, std::vector<uint8_t>{0, 1, 0, 1}, aggregation);
  }
  TokenScores scores_;
};

TEST_F(Words, TokensByThemselves) {
  for (const Aggregation aggregation : {Aggregation::kNone, Aggregation::kSimple}) {
    const auto units = label(aggregation);
    ASSERT_EQ(units.size(), 4u);
    EXPECT_EQ(units[1].label, 0u);
    EXPECT_EQ(units[2].label, 1u);  // the first of equals
    EXPECT_FLOAT_EQ(units[3].score, 0.6f);
  }
}

TEST_F(Words, First) {
  const auto units = label(Aggregation::kFirst);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].end, 2u);
  EXPECT_EQ(units[0].label, 1u);
  EXPECT_FLOAT_EQ(units[0].score, 0.6f);
  EXPECT_EQ(units[1].label, 1u);
  EXPECT_FLOAT_EQ(units[1].score, 0.4f);
}

TEST_F(Words, Average) {
  const auto units = label(Aggregation::kAverage);
  EXPECT_EQ(units[0].label, 0u);
  EXPECT_FLOAT_EQ(units[0].score, 0.55f);
  EXPECT_EQ(units[1].label, 2u);
  EXPECT_FLOAT_EQ(units[1].score, 0.5f);
}

TEST_F(Words, Max) {
  const auto units = label(Aggregation::kMax);
  EXPECT_EQ(units[0].label, 0u);
  EXPECT_FLOAT_EQ(units[0].score, 0.8f);
  EXPECT_EQ(units[1].label, 2u);
  EXPECT_FLOAT_EQ(units[1].score, 0.6f);
}

TEST_F(Words, ATextMayBeginInsideAWord) {
  const auto units = label_tokens(scores_, std::vector<uint8_t>{1, 1, 1, 1}, Aggregation::kFirst);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].end, 4u);
}

TEST(Overlaps, TheLongestIsKept) {
  using Kept = std::vector<size_t>;
  const auto kept = [](const std::vector<ScoredRange>& ranges) { return drop_overlapping(ranges); };
  EXPECT_EQ(kept({}), (Kept{}));
  EXPECT_EQ(kept({{0, 5, 0.9}, {5, 9, 0.8}}), (Kept{0, 1}));
  EXPECT_EQ(kept({{0, 5, 0.9}, {3, 9, 0.1}}), (Kept{1}));
  EXPECT_EQ(kept({{0, 5, 0.9}, {3, 6, 1.0}}), (Kept{0}));
  EXPECT_EQ(kept({{0, 5, 0.8}, {0, 5, 0.9}}), (Kept{1}));
  EXPECT_EQ(kept({{0, 5, 0.9}, {0, 5, 0.9}}), (Kept{0}));
  // Overlaps are with the one that is kept.
  EXPECT_EQ(kept({{0, 5, 0.9}, {4, 8, 0.9}, {6, 9, 0.9}}), (Kept{0, 2}));
  EXPECT_EQ(kept({{0, 4, 0.9}, {3, 8, 0.9}, {7, 14, 0.9}}), (Kept{2}));
  EXPECT_EQ(kept({{2, 2, 0.9}, {2, 2, 0.9}}), (Kept{0, 1}));
}

}  // namespace
}  // namespace longformer::tasks
