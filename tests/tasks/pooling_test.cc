#include "tasks/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longformer::tasks {
namespace {

std::vector<float> pool(Pooling pooling, const std::vector<std::vector<float>>& runs) {
  Pooler pooler(std::span(&pooling, 1), 2);
  pooler.add(std::vector<float>{9, 9});
  pooler.reset();
  for (const auto& run : runs) pooler.add(run);
  std::vector<float> out(2, -1.0f);
  pooler.result(out);
  return out;
}

TEST(Pooling, ByHand) {
  const std::vector<std::vector<float>> runs = {{1, -5}, {}, {3, -7, 2, -9}};
  EXPECT_EQ(pool(Pooling::kMean, runs), (std::vector<float>{2, -7}));
  EXPECT_EQ(pool(Pooling::kMax, runs), (std::vector<float>{3, -5}));
  EXPECT_EQ(pool(Pooling::kCls, runs), (std::vector<float>{1, -5}));
  EXPECT_EQ(pool(Pooling::kLastToken, runs), (std::vector<float>{2, -9}));
  EXPECT_EQ(pool(Pooling::kWeightedMean, {{1, 6, 4, 3}}), (std::vector<float>{3, 4}));
  EXPECT_EQ(pool(Pooling::kMeanSqrtLength, {{1, 2, 3, 4, 5, 6, 7, 8}}),
            (std::vector<float>{8, 10}));
  EXPECT_EQ(pool(Pooling::kMean, {}), (std::vector<float>{0, 0}));
}

TEST(Pooling, SeveralModesFollowEachOther) {
  const std::vector<Pooling> modes = {Pooling::kMax, Pooling::kMean};
  Pooler pooler(modes, 2);
  pooler.add(std::vector<float>{1, 4, 3, 2});
  std::vector<float> out(4);
  pooler.result(out);
  EXPECT_EQ(out, (std::vector<float>{3, 4, 2, 3}));
}

TEST(Pooling, SkippedStatesCountInTheWeights) {
  const Pooling mode = Pooling::kWeightedMean;
  Pooler pooler(std::span(&mode, 1), 1);
  pooler.skip(2);
  pooler.add(std::vector<float>{7, 14});  // weights 3 and 4
  std::vector<float> out(1);
  pooler.result(out);
  EXPECT_FLOAT_EQ(out[0], 11.0f);
}

TEST(Pooling, TheMeanOfManyStatesKeepsItsPrecision) {
  const Pooling mean = Pooling::kMean;
  Pooler pooler(std::span(&mean, 1), 1);
  const std::vector<float> run(1000, 0.1f);
  for (int i = 0; i < 2000; ++i) pooler.add(run);  // a float sum would be off by 1 % here
  std::vector<float> out(1);
  pooler.result(out);
  EXPECT_FLOAT_EQ(out[0], 0.1f);
}

TEST(Pooling, Names) {
  const auto names = pooling_name_list();
  EXPECT_EQ(names.size(), 6u);
  for (const std::string& name : names) EXPECT_EQ(pooling_name(*pooling_from_name(name)), name);
  EXPECT_EQ(pooling_from_name("lasttoken"), Pooling::kLastToken);
  EXPECT_FALSE(pooling_from_name("Mean"));
  EXPECT_FALSE(pooling_from_name(""));
}

TEST(Pooling, CosineAndLength) {
  const std::vector<float> a = {3, 4};
  const std::vector<float> b = {4, -3};
  EXPECT_DOUBLE_EQ(cosine(a, a), 1.0);
  EXPECT_DOUBLE_EQ(cosine(a, b), 0.0);
  EXPECT_DOUBLE_EQ(cosine(a, std::vector<float>{-6, -8}), -1.0);
  EXPECT_DOUBLE_EQ(cosine(a, std::vector<float>{0, 0}), 0.0);
  std::vector<float> c = a;
  normalize(c);
  EXPECT_FLOAT_EQ(c[0], 0.6f);
  EXPECT_FLOAT_EQ(c[1], 0.8f);
  std::vector<float> zero = {0, 0};
  normalize(zero);
  EXPECT_EQ(zero, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace longformer::tasks
