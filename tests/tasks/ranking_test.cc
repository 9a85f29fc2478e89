#include "tasks/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace longformer::tasks {
namespace {

SearchResult result(double score, const std::string& file, int64_t line, int64_t byte = 0) {
  SearchResult r;
  r.score = score;
  r.file = file;
  r.line_start = line;
  r.byte_start = byte;
  return r;
}

TEST(Ranking, ScoreThenFileThenPlace) {
  Ranking ranking(10);
  ranking.add(result(0.5, "b", 1));
  ranking.add(result(0.5, "a", 20));
  ranking.add(result(0.5, "a", 3, 9));
  ranking.add(result(0.5, "a", 3, 4));
  ranking.add(result(0.7, "z", 99));
  std::vector<std::pair<std::string, int64_t>> order;
  for (const SearchResult& r : ranking.results())
    order.push_back({r.file, r.line_start + r.byte_start});
  EXPECT_EQ(order, (std::vector<std::pair<std::string, int64_t>>{
                       {"z", 99}, {"a", 7}, {"a", 12}, {"a", 20}, {"b", 1}}));
}

TEST(Ranking, KeepsTheSameAsSortingAll) {
  std::mt19937 random(3);
  for (const int64_t limit : {1, 2, 7}) {
    std::vector<SearchResult> all;
    Ranking ranking(limit);
    for (int i = 0; i < 200; ++i) {
      SearchResult r = result(static_cast<double>(random() % 20),
                              std::string(1, static_cast<char>('a' + random() % 4)),
                              static_cast<int64_t>(random() % 50), i);
      all.push_back(r);
      if (ranking.would_enter(r.score)) ranking.add(r);
    }
    std::sort(all.begin(), all.end(), ranks_before);
    ASSERT_EQ(ranking.results().size(), static_cast<size_t>(limit));
    for (size_t i = 0; i < ranking.results().size(); ++i) {
      EXPECT_EQ(ranking.results()[i].byte_start, all[i].byte_start);
    }
  }
}

}  // namespace
}  // namespace longformer::tasks
