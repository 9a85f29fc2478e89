// softmax_strip_backward against double precision and against differences of a softmax, on every
// SIMD target.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kGuard = 4321.0f;

struct Strip {
  int64_t rows, width;
  std::vector<int32_t> begin, end;
  Values logsumexp, delta, scores, d_p;

  bool counted(int64_t r, int64_t c) const {
    return c >= begin[r] && c < end[r] && scores[r * width + c] != -kInfinity &&
           logsumexp[r] != -kInfinity;
  }
};

Strip random_strip(int64_t rows, int64_t width, uint32_t seed) {
  Strip strip{rows, width, {}, {}, {}, random_values(rows, seed), {}, {}};
  strip.scores = random_values(rows * width, seed + 1, 3.0f);
  strip.d_p = random_values(rows * width, seed + 2);
  std::mt19937 generator(seed);
  for (size_t i = 0; i < strip.scores.size(); i += 11) strip.scores[i] = -kInfinity;
  for (int64_t r = 0; r < rows; ++r) {
    auto a = static_cast<int32_t>(generator() % (width + 1));
    auto b = static_cast<int32_t>(generator() % (width + 1));
    if (r % 3 == 0) a = 0, b = static_cast<int32_t>(width);
    if (r % 7 != 6 && a > b) std::swap(a, b);  // some rows see nothing
    strip.begin.push_back(a);
    strip.end.push_back(b);
    double sum = 0;
    for (int64_t c = a; c < b; ++c) sum += std::exp(double{strip.scores[r * width + c]});
    // As if there were as much in other strips.
    strip.logsumexp.push_back(r % 5 == 4 ? -kInfinity : static_cast<float>(std::log(2 * sum + 1)));
  }
  return strip;
}

void run(Strip& strip) {
  const size_t size = strip.scores.size();
  for (Values* values : {&strip.scores, &strip.d_p}) values->resize(size + 40, kGuard);
  softmax_strip_backward(strip.rows, strip.width, strip.begin.data(), strip.end.data(),
                         strip.logsumexp.data(), strip.delta.data(), strip.scores.data(),
                         strip.d_p.data());
  for (Values* values : {&strip.scores, &strip.d_p}) {
    for (size_t i = size; i < values->size(); ++i) ASSERT_EQ((*values)[i], kGuard);
    values->resize(size);
  }
}

TEST(RowwiseSoftmaxBackward, EqualsDoublePrecision) {
  for_each_target([](const std::string&) {
    for (const int64_t width : {1, 3, 16, 17, 32, 63, 544}) {
      SCOPED_TRACE(width);
      const Strip before = random_strip(15, width, 1);
      Strip after = before;
      run(after);
      for (int64_t r = 0; r < 15; ++r) {
        for (int64_t c = 0; c < width; ++c) {
          const int64_t i = r * width + c;
          if (!before.counted(r, c)) {
            ASSERT_EQ(after.scores[i], 0.0f);
            ASSERT_EQ(after.d_p[i], 0.0f);
            continue;
          }
          const double x = double{before.scores[i]} - before.logsumexp[r];
          const double p = std::exp(x);
          const double want = p * (double{before.d_p[i]} - before.delta[r]);
          ASSERT_NEAR(after.scores[i], p, p * (4e-7 - 1.3e-7 * x));
          const double size = p * (std::abs(before.d_p[i]) + std::abs(before.delta[r]));
          ASSERT_NEAR(after.d_p[i], want, size * (6e-7 - 1.3e-7 * x));
        }
      }
    }
  });
}

// loss = sum of w_j p_j over a softmax; what comes back are its derivatives by the scores.
TEST(RowwiseSoftmaxBackward, IsTheDerivativeOfASoftmax) {
  const int64_t n = 21;
  const Values scores = random_values(n, 4), weights = random_values(n, 5);
  const auto loss = [&](int64_t at, double step) {
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double e = std::exp(scores[j] + (j == at ? step : 0.0));
      sum += e;
      weighted += e * weights[j];
    }
    return weighted / sum;
  };
  double sum = 0;
  for (const float score : scores) sum += std::exp(double{score});
  const float logsumexp = static_cast<float>(std::log(sum));
  const float delta = static_cast<float>(loss(-1, 0));
  const int32_t begin = 0, end = static_cast<int32_t>(n);
  for_each_target([&](const std::string&) {
    Values p = scores, slopes = weights;
    softmax_strip_backward(1, n, &begin, &end, &logsumexp, &delta, p.data(), slopes.data());
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_NEAR(slopes[j], (loss(j, 1e-5) - loss(j, -1e-5)) / 2e-5, 1e-7);
    }
  });
}

// What is not counted may hold anything; what is and is not finite stays in its row.
TEST(RowwiseSoftmaxBackward, NotFiniteValuesStayWhereTheyAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&](const std::string&) {
    const int64_t width = 40;
    Strip strip{3, width, {3, 0, 0}, {30, 40, 40}, Values(3, 2.0f), Values(3, 0.5f), {}, {}};
    strip.scores.assign(3 * width, 1.0f);
    strip.d_p.assign(3 * width, 1.0f);
    for (const int64_t c : {0, 2, 30, 39}) strip.scores[c] = strip.d_p[c] = nan;
    strip.scores[7] = -kInfinity;
    strip.d_p[7] = nan;
    strip.scores[width + 5] = nan;
    run(strip);
    for (int64_t c = 0; c < width; ++c) {
      ASSERT_FALSE(std::isnan(strip.scores[c]) || std::isnan(strip.d_p[c])) << c;
      ASSERT_EQ(strip.scores[c] == 0.0f, c < 3 || c >= 30 || c == 7) << c;
      ASSERT_EQ(strip.d_p[c] == 0.0f, c < 3 || c >= 30 || c == 7) << c;
      ASSERT_FALSE(std::isnan(strip.d_p[2 * width + c]));
    }
    EXPECT_TRUE(std::isnan(strip.scores[width + 5]));
  });
}

TEST(RowwiseSoftmaxBackward, RowsDoNotDependOnEachOther) {
  for_each_target([](const std::string&) {
    for (const int64_t width : {17, 32, 545}) {
      const Strip strip = random_strip(12, width, 6);
      Strip all = strip;
      run(all);
      for (int64_t r = 0; r < 12; ++r) {
        const auto row = [&](const Values& values) {
          return Values(values.begin() + r * width, values.begin() + (r + 1) * width);
        };
        Strip one{1,
                  width,
                  {strip.begin[r]},
                  {strip.end[r]},
                  {strip.logsumexp[r]},
                  {strip.delta[r]},
                  row(strip.scores),
                  row(strip.d_p)};
        run(one);
        ASSERT_TRUE(same_bits(one.scores.data(), &all.scores[r * width], width));
        ASSERT_TRUE(same_bits(one.d_p.data(), &all.d_p[r * width], width));
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
