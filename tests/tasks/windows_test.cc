#include "tasks/windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "longformer/error.h"

namespace longformer::tasks {
namespace {

TEST(Windows, OneWhereTheTextFits) {
  EXPECT_EQ(plan_windows(10, 10, 3), (std::vector<Window>{{0, 10, 0, 10}}));
  EXPECT_EQ(plan_windows(1, 10, 0), (std::vector<Window>{{0, 1, 0, 1}}));
  EXPECT_TRUE(plan_windows(0, 10, 3).empty());
}

TEST(Windows, TwoByHand) {
  // 12 tokens, 8 at once, 2 shared: 7 + 7, shared [5, 7), seam at 6.
  EXPECT_EQ(plan_windows(12, 8, 2), (std::vector<Window>{{0, 7, 0, 6}, {5, 12, 6, 12}}));
}

TEST(Windows, EachTokenIsTakenOnceAndFromWhereItIsMostCentral) {
  for (int64_t capacity = 1; capacity <= 24; ++capacity) {
    for (int64_t overlap = 0; 2 * overlap < capacity; ++overlap) {
      for (int64_t tokens = 1; tokens <= 90; ++tokens) {
        const auto windows = plan_windows(tokens, capacity, overlap);
        int64_t next = 0;
        for (size_t i = 0; i < windows.size(); ++i) {
          const Window& w = windows[i];
          ASSERT_LE(w.size(), capacity);
          ASSERT_EQ(w.keep_begin, next);
          ASSERT_LE(w.begin, w.keep_begin);
          ASSERT_LE(w.keep_end, w.end);
          ASSERT_LT(w.keep_begin, w.keep_end);
          if (i > 0) {
            ASSERT_GE(windows[i - 1].end - w.begin, overlap);
          }
          next = w.keep_end;
        }
        ASSERT_EQ(next, tokens);
        ASSERT_EQ(windows.front().begin, 0);
        ASSERT_EQ(windows.back().end, tokens);
        for (int64_t t = 0; t < tokens; ++t) {
          const auto edge = [&](const Window& w) {  // an end of the document is no edge
            const int64_t left = w.begin == 0 ? tokens : t - w.begin;
            const int64_t right = w.end == tokens ? tokens : w.end - 1 - t;
            return std::min(left, right);
          };
          int64_t best = -1;
          int64_t kept = -1;
          for (const Window& w : windows) {
            if (t >= w.begin && t < w.end) best = std::max(best, edge(w));
            if (t >= w.keep_begin && t < w.keep_end) kept = edge(w);
          }
          ASSERT_GE(kept, best - 1) << tokens << " " << capacity << " " << overlap << " " << t;
        }
      }
    }
  }
}

TEST(Windows, AsFewAsPossible) {
  EXPECT_EQ(plan_windows(4094, 4094, 511).size(), 1u);
  EXPECT_EQ(plan_windows(4095, 4094, 511).size(), 2u);
  EXPECT_EQ(plan_windows(4094 + 3583, 4094, 511).size(), 2u);
  EXPECT_EQ(plan_windows(4094 + 3583 + 1, 4094, 511).size(), 3u);
}

TEST(Windows, ImpossibleOverlapsAreRefused) {
  EXPECT_THROW(plan_windows(10, 4, 2), Error);
  EXPECT_THROW(plan_windows(10, 4, -1), Error);
  EXPECT_THROW(plan_windows(10, 0, 0), Error);
}

TEST(Windows, OverlapOfAModel) {
  EXPECT_EQ(window_overlap(4094, 256), 511);  // an eighth
  EXPECT_EQ(window_overlap(510, 100), 100);   // the reach is longer
  EXPECT_EQ(window_overlap(510, 510), 127);   // full attention: a quarter
  EXPECT_EQ(window_overlap(1, 1), 0);
}

}  // namespace
}  // namespace longformer::tasks
