#include "tasks/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longformer::tasks {
namespace {

// Passages 1, 2, … with these texts; two files of `split` and the rest.
class WordsTest : public testing::Test {
 protected:
  WordsTest() : collection_(io::Collection::temporary()) { collection_.begin(); }

  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      io::CollectionPassage passage;
      passage.text = text;
      collection_.add_passage(++count_, passage);
    }
  }

  std::vector<FusedPassage> search(const std::string& query, const std::vector<double>& cosines,
                                   const FusionOptions& options = {}) {
    return fuse(collection_, {{1, 0, count_, 0}}, cosines, parse_query(query), options);
  }

  static std::vector<int64_t> passages(const std::vector<FusedPassage>& found) {
    std::vector<int64_t> ids;
    for (const FusedPassage& passage : found) ids.push_back(passage.passage);
    return ids;
  }

  io::Collection collection_;
  int64_t count_ = 0;
};

using Ids = std::vector<int64_t>;

TEST_F(WordsTest, TheScoreIsTheStatedSum) {
  add({"one fox", "two hens", "three foxes and a fox here", "four dogs"});
  const std::vector<double> cosines = {0.1, 0.6, 0.2, 0.5};
  const std::vector<FusedPassage> found =
      search("the fox", cosines, {.words_weight = 0.5, .top = 10});
  ASSERT_EQ(found.size(), 4u);
  double largest = 0;
  for (const FusedPassage& passage : found) {
    EXPECT_DOUBLE_EQ(passage.cosine, cosines[static_cast<size_t>(passage.position)]);
    EXPECT_DOUBLE_EQ(passage.score, passage.cosine + 0.5 * passage.words);
    largest = std::max(largest, passage.words);
    EXPECT_EQ(passage.words > 0, passage.passage == 1 || passage.passage == 3);
  }
  EXPECT_DOUBLE_EQ(largest, 1.0);
  // Without words only the cosine counts.
  EXPECT_EQ(passages(search("the fox", cosines, {.words_weight = 0, .top = 10})),
            (Ids{2, 4, 3, 1}));
}

TEST_F(WordsTest, WhatStandsEverywhereSaysNothing) {
  add({"the fox", "the hen the the", "the dog", "a cat"});
  const std::vector<double> cosines = {0.1, 0.2, 0.3, 0.4};
  EXPECT_EQ(search("the fox", cosines), search("fox", cosines));
  EXPECT_EQ(search("the fox", cosines).front().words, 0);
  for (const FusedPassage& passage : search("the", cosines)) EXPECT_EQ(passage.words, 0);
  // In half of a larger collection it counts.
  double largest = 0;
  for (const FusedPassage& passage : search("the", cosines, {.passages = 6})) {
    largest = std::max(largest, passage.words);
  }
  EXPECT_EQ(largest, 1.0);
}

TEST_F(WordsTest, VerbatimFindsComeFirst) {
  add({"the max_len is 3", "max len", "see max_len, and os.path too", "maximal"});
  const std::vector<double> cosines = {0.1, 0.9, -0.5, 0.8};
  const std::vector<FusedPassage> found = search("what is max_len in os.path", cosines);
  EXPECT_EQ(passages(found), (Ids{3, 1, 2, 4}));
  EXPECT_EQ(found[0].verbatim, 2);
  EXPECT_EQ(found[1].verbatim, 1);
  EXPECT_EQ(found[2].verbatim, 0);
  EXPECT_EQ(passages(search("\"max len\"", cosines))[0], 2);
  // Whatever the weight of words is.
  EXPECT_EQ(passages(search("max_len", cosines, {.words_weight = 0}))[0], 1);
}

TEST_F(WordsTest, ScriptsWithoutSpaces) {
  add({"狐狸在谷仓里睡觉", "母鸡跑了", "fox"});
  const std::vector<FusedPassage> found = search("\"谷仓\"", {0, 0.9, 0.8});
  EXPECT_EQ(found[0].passage, 1);
  EXPECT_EQ(found[0].verbatim, 1);
}

TEST_F(WordsTest, OnlyTheRunsTakePart) {
  add({"fox", "fox", "fox fox", "fox", "fox", "a", "b", "c", "d", "e"});
  // Two files, with a hole between their vectors and passages of others around them.
  const std::vector<PassageRun> runs = {{4, 0, 1, 1}, {2, 3, 1, 0}, {9, 2, 0, 2}};
  const std::vector<double> cosines = {0.5, 9, 9, 0.5, 9};
  const std::vector<FusedPassage> found =
      fuse(collection_, runs, cosines, parse_query("fox"), {.passages = 10});
  EXPECT_EQ(passages(found), (Ids{2, 4}));  // equal scores: by file
  EXPECT_EQ(found[0].position, 3);
  EXPECT_DOUBLE_EQ(found[0].words, 1.0);  // the largest of those that take part
  EXPECT_TRUE(fuse(collection_, {}, cosines, parse_query("fox"), {}).empty());
}

TEST_F(WordsTest, LimitsHold) {
  add({"a", "b", "c"});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(passages(search("x", {0.3, nan, 0.7})), (Ids{3, 1}));
  EXPECT_EQ(passages(search("x", {0.3, 0.2, 0.7}, {.top = 1})), Ids{3});
  EXPECT_EQ(passages(search("x", {0.3, 0.2, 0.7}, {.min_score = 0.25})), (Ids{3, 1}));
}

}  // namespace
}  // namespace longformer::tasks
