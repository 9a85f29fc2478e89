// Dropout against the scalar draws, bit for bit, on every SIMD target, and the draws themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/dropout.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kGuard = -9876.5f;

std::vector<uint64_t> keys(int64_t rows, uint64_t seed) {
  std::vector<uint64_t> result;
  for (int64_t r = 0; r < rows; ++r) {
    result.push_back(random_bits(seed, static_cast<uint64_t>(r)));
  }
  return result;
}

TEST(Dropout, RulesOfProbabilities) {
  EXPECT_FALSE(dropout_rule(0.0).drops());
  EXPECT_EQ(dropout_rule(0.0).scale, 1.0f);
  EXPECT_FALSE(dropout_rule(0x1p-33).drops());
  EXPECT_EQ(dropout_rule(0x1.1p-33).threshold, 1u);
  EXPECT_EQ(dropout_rule(0.5).threshold, 0x80000000u);
  EXPECT_EQ(dropout_rule(0.5).scale, 2.0f);
  EXPECT_EQ(dropout_rule(0.1).threshold, 429496730u);
  EXPECT_EQ(dropout_rule(0.1).scale, static_cast<float>(1 / 0.9));
  EXPECT_EQ(dropout_rule(1 - 0x1p-53).threshold, 0xFFFFFFFFu);
}

TEST(Dropout, RowsHaveTheDrawsOfTheScalar) {
  for_each_target([](const std::string&) {
    for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
      const DropoutRule rule = dropout_rule(probability);
      for (const int64_t cols : {1, 3, 15, 16, 17, 33, 100}) {
        const int64_t rows = 5, stride = cols + 4;
        const Values x = random_values(rows * stride, 1);
        const std::vector<uint64_t> row_keys = keys(rows, 2);
        for (const auto& [first, step] :
             {std::pair<uint32_t, uint32_t>{0, 1}, {1000, 3}, {0xFFFFFFF0u, 7}}) {
          std::vector<uint32_t> indices;
          Values want = x, steps = x, listed = x;
          for (int64_t c = 0; c < cols; ++c) {
            indices.push_back(first + static_cast<uint32_t>(c) * step);
            for (int64_t r = 0; r < rows; ++r) {
              const bool kept = dropout_bits(row_keys[r], indices.back()) >= rule.threshold;
              float& value = want[r * stride + c];
              value = kept ? value * rule.scale : 0.0f;
            }
          }
          dropout_rows(rows, cols, rule, row_keys.data(), first, step, steps.data(), stride);
          dropout_rows(rows, cols, rule, row_keys.data(), indices.data(), listed.data(), stride);
          ASSERT_TRUE(same_bits(steps.data(), want.data(), rows * stride)) << cols << ", " << step;
          ASSERT_TRUE(same_bits(listed.data(), want.data(), rows * stride)) << cols << ", " << step;
        }
      }
    }
  });
}

TEST(Dropout, WhatIsDroppedBecomesZeroWhateverItWas) {
  for_each_target([](const std::string&) {
    const DropoutRule rule = dropout_rule(0.5);
    const uint64_t key = random_bits(3, 0);
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Values x(100, value);
      dropout_rows(1, 100, rule, &key, 0, 1, x.data(), 100);
      for (uint32_t c = 0; c < 100; ++c) {
        const bool kept = dropout_bits(key, c) >= rule.threshold;
        ASSERT_EQ(x[c] == 0.0f, !kept) << c;
      }
    }
  });
}

// Of 2^20 draws in 1,024 rows: how many are dropped, in rows, in columns, and beside each other.
TEST(Dropout, DrawsAreUniformAndIndependent) {
  const int64_t n = 1024;
  for (const double p : {0.1, 0.5}) {
    const DropoutRule rule = dropout_rule(p);
    const std::vector<uint64_t> row_keys = keys(n, 4);
    std::vector<int64_t> in_row(n), in_column(n);
    int64_t total = 0, beside = 0, below = 0;
    const auto dropped = [&](int64_t r, int64_t c) {
      return dropout_bits(row_keys[r], static_cast<uint32_t>(c)) < rule.threshold;
    };
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        if (!dropped(r, c)) continue;
        ++total, ++in_row[r], ++in_column[c];
        if (c + 1 < n) beside += dropped(r, c + 1) ? 1 : 0;
        if (r + 1 < n) below += dropped(r + 1, c) ? 1 : 0;
      }
    }
    const auto expect = [](int64_t count, int64_t draws, double share, double deviations) {
      const double mean = static_cast<double>(draws) * share;
      const double deviation = std::sqrt(mean * (1 - share));
      EXPECT_NEAR(static_cast<double>(count), mean, deviations * deviation);
    };
    expect(total, n * n, p, 4);
    expect(beside, n * (n - 1), p * p, 5);
    expect(below, n * (n - 1), p * p, 5);
    for (int64_t i = 0; i < n; ++i) {
      expect(in_row[i], n, p, 5);
      expect(in_column[i], n, p, 5);
    }
  }
}

TEST(Dropout, NothingIsWrittenBehindARow) {
  for_each_target([](const std::string&) {
    const std::vector<uint64_t> row_keys = keys(3, 5);
    Values x(3 * 37 + 40, kGuard);
    dropout_rows(3, 21, dropout_rule(0.9), row_keys.data(), 5, 2, x.data(), 37);
    for (size_t i = 0; i < x.size(); ++i) {
      if (i % 37 >= 21 || i >= 3 * 37) {
        ASSERT_EQ(x[i], kGuard) << i;
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
