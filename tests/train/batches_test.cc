// Orders, batches, groups and positions.
#include "train/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "support/expect_error.h"

namespace longformer::train {
namespace {

std::vector<int64_t> some_lengths(int64_t count) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) {
    lengths.push_back(1 + static_cast<int64_t>(random_bits(5, static_cast<uint64_t>(i)) % 500));
  }
  return lengths;
}

std::vector<int64_t> all_of(BatchOrder& order, int64_t epoch) {
  std::vector<int64_t> examples;
  for (int64_t g = 0; g < order.groups(epoch); ++g) {
    for (const Batch& batch : order.group({epoch, g})) {
      examples.insert(examples.end(), batch.begin(), batch.end());
    }
  }
  return examples;
}

void expect_each_once(std::vector<int64_t> examples, int64_t count) {
  std::sort(examples.begin(), examples.end());
  std::vector<int64_t> expected(static_cast<size_t>(count));
  std::iota(expected.begin(), expected.end(), int64_t{0});
  EXPECT_EQ(examples, expected);
}

TEST(Batches, PermutationsDifferAndArePermutations) {
  std::set<std::vector<int64_t>> seen;
  for (const uint64_t seed : {0, 1, 42}) {
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      const auto order = epoch_permutation(100, seed, epoch);
      expect_each_once(order, 100);
      EXPECT_TRUE(seen.insert(order).second);
      EXPECT_EQ(order, epoch_permutation(100, seed, epoch));
    }
  }
  EXPECT_EQ(epoch_permutation(1, 0, 0), std::vector<int64_t>{0});
}

// Each of the 24 orders of four about equally often.
TEST(Batches, PermutationsAreUniform) {
  std::map<std::vector<int64_t>, int64_t> counts;
  constexpr int64_t kEpochs = 24'000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) ++counts[epoch_permutation(4, 7, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(static_cast<double>(count), 1000, 160);
}

TEST(Batches, ByCount) {
  BatchOrder order({.batch_size = 4, .accumulation_steps = 3, .seed = 1}, some_lengths(30));
  EXPECT_EQ(order.groups(0), 3);  // 8 batches
  EXPECT_EQ(order.group({0, 0}).size(), 3u);
  const std::vector<Batch> last = order.group({0, 2});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].size(), 4u);
  EXPECT_EQ(last[1].size(), 2u);
  expect_each_once(all_of(order, 0), 30);
  EXPECT_EQ(all_of(order, 0), epoch_permutation(30, 1, 0));
  EXPECT_NE(all_of(order, 1), all_of(order, 0));
  test::expect_error(ErrorCode::kInternal, {"epoch 0", "group 3"}, [&] { order.group({0, 3}); });
}

TEST(Batches, ByTokens) {
  const std::vector<int64_t> lengths = some_lengths(300);
  BatchOrder order({.tokens_per_batch = 450, .seed = 3}, lengths);
  expect_each_once(all_of(order, 2), 300);
  std::vector<int64_t> tokens;
  for (int64_t g = 0; g < order.groups(2); ++g) {
    const Batch batch = order.group({2, g})[0];
    int64_t sum = 0;
    for (const int64_t example : batch) sum += lengths[static_cast<size_t>(example)];
    EXPECT_TRUE(sum <= 450 || batch.size() == 1) << sum;
    const int64_t first = lengths[static_cast<size_t>(batch[0])];
    if (!tokens.empty()) {
      EXPECT_GT(tokens.back() + first, 450);  // nothing more would have fitted
    }
    tokens.push_back(sum);
  }
}

TEST(Batches, GroupedByLengthLikeTransformers) {
  const std::vector<int64_t> lengths = some_lengths(1000);
  BatchOrder order({.batch_size = 2, .accumulation_steps = 2, .group_by_length = true, .seed = 3},
                   lengths);
  const std::vector<int64_t> examples = all_of(order, 0);
  expect_each_once(examples, 1000);
  const auto length = [&](size_t i) { return lengths[static_cast<size_t>(examples[i])]; };
  EXPECT_EQ(length(0), *std::max_element(lengths.begin(), lengths.end()));
  size_t rises = 0;
  constexpr size_t kStretch = 200;  // 50 groups of 4 examples
  for (size_t i = 1; i < examples.size(); ++i) {
    if (length(i) <= length(i - 1)) continue;
    ++rises;
    EXPECT_TRUE(i % kStretch == 0 || i % kStretch == 1) << i;  // the first was exchanged
  }
  EXPECT_GE(rises, 4u);
  EXPECT_NE(all_of(order, 1), examples);
}

TEST(Batches, GroupedByLengthWithABudgetKeepsBatchesAlike) {
  const std::vector<int64_t> lengths = some_lengths(1000);
  const auto spread = [&](bool grouped) {
    BatchOrder order({.tokens_per_batch = 1000, .group_by_length = grouped}, lengths);
    expect_each_once(all_of(order, 0), 1000);
    double sum = 0;
    for (int64_t g = 0; g < order.groups(0); ++g) {
      const Batch batch = order.group({0, g})[0];
      const auto [low, high] =
          std::minmax_element(batch.begin(), batch.end(),
                              [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
      sum += static_cast<double>(lengths[*high] - lengths[*low]);
    }
    return sum / static_cast<double>(order.groups(0));
  };
  EXPECT_LT(spread(true), spread(false) / 4);
}

TEST(Batches, PositionsGoThroughAllEpochs) {
  BatchOrder order({.tokens_per_batch = 900, .accumulation_steps = 2, .seed = 9}, some_lengths(50));
  Position position;
  int64_t steps = 0;
  for (; position.epoch < 3; position = order.after(position)) {
    ++steps;
    EXPECT_FALSE(order.group(position).empty());
  }
  EXPECT_EQ(steps, order.groups_in(3));
  EXPECT_EQ(position, (Position{3, 0}));
  EXPECT_EQ(order.groups_in(1), order.groups(0));
  EXPECT_EQ(order.groups_in(1.5), order.groups(0) + (order.groups(1) + 1) / 2);
  // Backwards, as a continued run may ask: the same again.
  BatchOrder other({.tokens_per_batch = 900, .accumulation_steps = 2, .seed = 9}, some_lengths(50));
  EXPECT_EQ(other.group({2, 1}), order.group({2, 1}));
  EXPECT_EQ(other.group({0, 1}), order.group({0, 1}));
}

TEST(Batches, CountsHalfEpochs) {
  BatchOrder order({.batch_size = 4}, some_lengths(30));
  EXPECT_EQ(order.groups_in(3), 24);
  EXPECT_EQ(order.groups_in(0.1), 1);
  EXPECT_EQ(order.groups_in(1.25), 10);
}

TEST(Batches, RefusesAnEmptySet) {
  test::expect_error(ErrorCode::kInvalidArgument, {"the training set", "no example"},
                     [] { BatchOrder({}, {}); });
}

}  // namespace
}  // namespace longformer::train
