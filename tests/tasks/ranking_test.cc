#include "tasks/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace longformer::tasks {
namespace {

TEST(Ranking, VerbatimThenScoreThenFileThenPlace) {
  Ranking ranking(10);
  const std::vector<Candidate> in_order = {{2, 0.1, 9, 1}, {1, 0.2, 5, 2}, {0, 0.7, 8, 3},
                                           {0, 0.5, 1, 7}, {0, 0.5, 1, 8}, {0, 0.5, 2, 4}};
  std::vector<Candidate> mixed = in_order;
  std::shuffle(mixed.begin(), mixed.end(), std::mt19937(1));
  for (const Candidate& candidate : mixed) ranking.add(candidate);
  const std::vector<Candidate> best = ranking.take();
  ASSERT_EQ(best.size(), in_order.size());
  for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].passage, in_order[i].passage);
}

TEST(Ranking, KeepsTheSameAsSortingAll) {
  std::mt19937 random(3);
  for (const int64_t limit : {1, 2, 7, 500}) {
    std::vector<Candidate> all;
    Ranking ranking(limit);
    for (int i = 0; i < 200; ++i) {
      all.push_back({static_cast<int64_t>(random() % 2), static_cast<double>(random() % 20),
                     static_cast<int64_t>(random() % 4), i});
      ranking.add(all.back());
    }
    std::sort(all.begin(), all.end(), ranks_before);
    const std::vector<Candidate> best = ranking.take();
    ASSERT_EQ(best.size(), std::min<size_t>(static_cast<size_t>(limit), all.size()));
    for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].passage, all[i].passage);
  }
}

}  // namespace
}  // namespace longformer::tasks
