#include "tasks/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longformer::tasks {
namespace {

std::vector<float> pool(Pooling pooling, const std::vector<std::vector<float>>& runs) {
  Pooler pooler(pooling, 2);
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
  EXPECT_EQ(pool(Pooling::kMean, {}), (std::vector<float>{0, 0}));
}

TEST(Pooling, TheMeanOfManyStatesKeepsItsPrecision) {
  Pooler pooler(Pooling::kMean, 1);
  const std::vector<float> run(1000, 0.1f);
  for (int i = 0; i < 2000; ++i) pooler.add(run);  // a float sum would be off by 1 % here
  std::vector<float> out(1);
  pooler.result(out);
  EXPECT_FLOAT_EQ(out[0], 0.1f);
}

TEST(Pooling, Names) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
    EXPECT_EQ(pooling_from_name(pooling_name(pooling)), pooling);
  }
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
