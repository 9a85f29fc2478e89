// softmax_strip against a double precision softmax over all strips, on every SIMD target.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/rowwise.h"
#include "rowwise_operands.h"
#include "targets.h"

namespace longformer::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kGuard = 4321.0f;

struct Strip {
  int64_t width;
  std::vector<int32_t> begin, end;
  std::vector<float> scores;
};

Strip random_strip(int64_t rows, int64_t width, uint32_t seed, float scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::uniform_int_distribution<int32_t> column(0, static_cast<int32_t>(width));
  Strip strip{width, {}, {}, {}};
  for (int64_t r = 0; r < rows; ++r) {
    int32_t a = column(generator), b = column(generator);
    if (r % 4 == 0) a = 0, b = static_cast<int32_t>(width);
    if (r % 7 != 6 && a > b) std::swap(a, b);  // some rows see nothing
    strip.begin.push_back(a);
    strip.end.push_back(b);
  }
  strip.scores.resize(static_cast<size_t>(rows * width));
  for (float& score : strip.scores) score = normal(generator);
  for (size_t i = 0; i < strip.scores.size(); i += 11) strip.scores[i] = -kInfinity;
  return strip;
}

struct Running {
  explicit Running(int64_t rows) : max(rows, -kInfinity), sum(rows, 0.0f), correction(rows, 0.5f) {}
  std::vector<float> max, sum, correction;
};

void run(Strip& strip, Running& running) {
  const auto rows = static_cast<int64_t>(strip.begin.size());
  const size_t size = strip.scores.size();
  strip.scores.resize(size + 40, kGuard);
  softmax_strip(rows, strip.width, strip.begin.data(), strip.end.data(), strip.scores.data(),
                running.max.data(), running.sum.data(), running.correction.data());
  for (size_t i = size; i < strip.scores.size(); ++i) {
    ASSERT_EQ(strip.scores[i], kGuard) << "wrote past the end";
  }
  strip.scores.resize(size);
}

void expect_strips_equal_softmax(std::vector<Strip> strips) {
  const std::vector<Strip> before = strips;
  const auto rows = static_cast<int64_t>(strips[0].begin.size());
  Running running(rows);
  std::vector<std::vector<float>> corrections;
  for (Strip& strip : strips) {
    run(strip, running);
    corrections.push_back(running.correction);
  }
  for (int64_t r = 0; r < rows; ++r) {
    double maximum = -kInfinity, sum = 0;
    const auto each = [&](auto&& body) {
      for (size_t s = 0; s < before.size(); ++s) {
        for (int64_t c = 0; c < before[s].width; ++c) {
          const float score = before[s].scores[r * before[s].width + c];
          const bool counted =
              c >= before[s].begin[r] && c < before[s].end[r] && score != -kInfinity;
          body(s, c, counted, double{score});
        }
      }
    };
    each([&](size_t, int64_t, bool counted, double score) {
      if (counted) maximum = std::max(maximum, score);
    });
    each([&](size_t, int64_t, bool counted, double score) {
      if (counted) sum += std::exp(score - maximum);
    });
    ASSERT_EQ(running.max[r], maximum);
    ASSERT_NEAR(running.sum[r], sum, 1e-6 * sum);
    each([&](size_t s, int64_t c, bool counted, double score) {
      double got = strips[s].scores[r * strips[s].width + c];
      for (size_t later = s + 1; later < strips.size(); ++later) got *= corrections[later][r];
      if (!counted) {
        ASSERT_EQ(got, 0.0);
      } else {
        const double want = std::exp(score - maximum);
        // The rounding of score - max is relative to that difference and becomes relative to p.
        const double relative = 4e-7 + 1.3e-7 * (maximum - score);
        ASSERT_NEAR(got, want, relative * want + 2e-38) << "row " << r << ", column " << c;
      }
    });
  }
}

TEST(RowwiseSoftmax, StripsEqualDoublePrecision) {
  for_each_target([](const std::string&) {
    for (const int64_t width : {1, 3, 17, 32, 63, 544, 768, 2048}) {
      for (const float scale : {1.0f, 30.0f}) {
        SCOPED_TRACE(width);
        expect_strips_equal_softmax({random_strip(15, width, 1, scale)});
        expect_strips_equal_softmax({random_strip(15, width, 2, scale),
                                     random_strip(15, 33, 3, 2 * scale),
                                     random_strip(15, width, 4, scale)});
      }
    }
  });
}

TEST(RowwiseSoftmax, RowsThatSeeNothingStayAsTheyWere) {
  for_each_target([](const std::string&) {
    Strip strip{20, {5, 7, 0, 3, 0}, {5, 2, 0, 9, 20}, std::vector<float>(100, -kInfinity)};
    strip.scores[0] = 3.0f;  // not counted
    Running running(5);
    running.max[1] = 2.5f, running.sum[1] = 7.0f;
    run(strip, running);
    for (const float p : strip.scores) EXPECT_EQ(p, 0.0f);
    for (int r = 0; r < 5; ++r) {
      EXPECT_EQ(running.max[r], r == 1 ? 2.5f : -kInfinity);
      EXPECT_EQ(running.sum[r], r == 1 ? 7.0f : 0.0f);
      EXPECT_EQ(running.correction[r], 1.0f);
    }
  });
}

TEST(RowwiseSoftmax, FirstStripHasCorrectionOne) {
  for_each_target([](const std::string&) {
    Strip strip{2, {0}, {2}, {1.0f, 1.0f}};
    Running running(1);
    run(strip, running);
    EXPECT_EQ(running.correction[0], 1.0f);
    EXPECT_EQ(running.sum[0], 2.0f);
    EXPECT_EQ(running.max[0], 1.0f);
    EXPECT_EQ(strip.scores, (std::vector<float>{1.0f, 1.0f}));
  });
}

TEST(RowwiseSoftmax, NanStaysInItsRow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&](const std::string&) {
    for (const int64_t width : {5, 32, 100}) {
      for (int64_t position = 0; position < width; ++position) {
        for (const float others : {0.5f, -kInfinity}) {
          Strip strip{width, {0, 0, 0}, {}, std::vector<float>(3 * width, others)};
          strip.end.assign(3, static_cast<int32_t>(width));
          strip.scores[width + position] = nan;
          Running running(3);
          run(strip, running);
          EXPECT_TRUE(std::isnan(running.sum[1])) << width << ", " << position;
          for (const int r : {0, 2}) {
            EXPECT_EQ(running.sum[r], others == 0.5f ? static_cast<float>(width) : 0.0f);
            EXPECT_EQ(running.max[r], others);
          }
          // A later strip does not hide it.
          Strip next{width, {0, 0, 0}, strip.end, std::vector<float>(3 * width, 9.0f)};
          run(next, running);
          EXPECT_TRUE(std::isnan(running.sum[1]));
          EXPECT_FALSE(std::isnan(running.sum[0]));
        }
      }
    }
    // Outside [begin, end) it is not read.
    Strip strip{9, {1}, {8}, std::vector<float>(9, 0.0f)};
    strip.scores[0] = strip.scores[8] = nan;
    Running running(1);
    run(strip, running);
    EXPECT_EQ(running.sum[0], 7.0f);
    EXPECT_EQ(strip.scores[0], 0.0f);
    EXPECT_EQ(strip.scores[8], 0.0f);
  });
}

// The same numbers rounded to nearest even; running maxima and sums to the bit.
TEST(RowwiseSoftmax, ProbabilitiesMayBeBFloat16) {
  for_each_target([](const std::string&) {
    for (const int64_t width : {1, 3, 16, 17, 63, 100, 545}) {
      Strip floats = random_strip(15, width, 21, 5.0f), strip = floats;
      floats.scores[width / 2] = strip.scores[width / 2] = std::numeric_limits<float>::quiet_NaN();
      Running want(15), got(15);
      for (int part = 0; part < 2; ++part) {
        std::vector<BFloat16> p(15 * width + 40, BFloat16{0xA5A5});
        softmax_strip(15, width, strip.begin.data(), strip.end.data(), strip.scores.data(),
                      got.max.data(), got.sum.data(), got.correction.data(), p.data());
        run(floats, want);
        for (int64_t i = 0; i < 15 * width; ++i) {
          ASSERT_EQ(p[i].bits, f32_to_bf16(floats.scores[i])) << i;
        }
        for (size_t i = 15 * width; i < p.size(); ++i) ASSERT_EQ(p[i].bits, 0xA5A5);
        ASSERT_TRUE(same_bits(got.max.data(), want.max.data(), 15));
        ASSERT_TRUE(same_bits(got.sum.data(), want.sum.data(), 15));
        ASSERT_TRUE(same_bits(got.correction.data(), want.correction.data(), 15));
        floats = strip = random_strip(15, width, 22, 6.0f);
      }
    }
  });
}

TEST(RowwiseSoftmax, RowsDoNotDependOnEachOther) {
  for_each_target([](const std::string&) {
    for (const int64_t width : {17, 32, 545}) {
      const Strip strip = random_strip(12, width, 9, 3.0f);
      Strip all = strip;
      Running running(12);
      run(all, running);
      for (int64_t r = 0; r < 12; ++r) {
        const auto row = strip.scores.begin() + r * width;
        Strip one{width, {strip.begin[r]}, {strip.end[r]}, std::vector<float>(row, row + width)};
        Running alone(1);
        run(one, alone);
        EXPECT_EQ(std::memcmp(one.scores.data(), all.scores.data() + r * width,
                              sizeof(float) * static_cast<size_t>(width)),
                  0);
        EXPECT_EQ(std::bit_cast<uint32_t>(alone.sum[0]), std::bit_cast<uint32_t>(running.sum[r]));
        EXPECT_EQ(alone.max[0], running.max[r]);
      }
    }
  });
}

}  // namespace
}  // namespace longformer::kernels
