// The likeliest spans beside all spans, on random rows.
#include "tasks/span_decoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/expect_error.h"

namespace longformer::tasks {
namespace {

// Every span there is, sorted.
std::vector<TokenSpan> all_spans(const std::vector<double>& starts, const std::vector<double>& ends,
                                 int64_t max_length, size_t count) {
  std::vector<TokenSpan> spans;
  for (size_t first = 0; first < starts.size(); ++first) {
    for (size_t last = first; last < ends.size(); ++last) {
      if (static_cast<int64_t>(last - first) >= max_length) continue;
      const double score = starts[first] * ends[last];
      if (score > 0) spans.push_back({first, last, score});
    }
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TokenSpan& a, const TokenSpan& b) { return a.score > b.score; });
  spans.resize(std::min(spans.size(), count));
  return spans;
}

TEST(SpanDecoding, FindsTheBestOfAllSpans) {
  std::mt19937 engine(5);
  for (int round = 0; round < 400; ++round) {
    const size_t tokens = 1 + engine() % 40;
    // Few different values make ties; some are nought.
    const unsigned values = round % 2 == 0 ? 5 : 1'000'000;
    std::vector<double> starts(tokens);
    std::vector<double> ends(tokens);
    for (double& value : starts) value = static_cast<double>(engine() % values) / values;
    for (double& value : ends) value = static_cast<double>(engine() % values) / values;
    const auto length = static_cast<int64_t>(1 + engine() % 50);
    const size_t count = 1 + engine() % 60;
    EXPECT_EQ(best_spans(starts, ends, length, count), all_spans(starts, ends, length, count))
        << "round " << round;
  }
}

TEST(SpanDecoding, TakesNothingWhereThereIsNothing) {
  const std::vector<double> zeros(4, 0.0);
  const std::vector<double> ones(4, 1.0);
  EXPECT_TRUE(best_spans(zeros, ones, 3, 5).empty());
  EXPECT_TRUE(best_spans({}, {}, 3, 5).empty());
  EXPECT_TRUE(best_spans(ones, ones, 0, 5).empty());
  EXPECT_TRUE(best_spans(ones, ones, 3, 0).empty());
}

TEST(SpanDecoding, MakesADistributionOfWhatCounts) {
  const std::vector<float> logits = {1, 50, 2, -3};
  const std::vector<uint8_t> counted = {1, 0, 1, 1};
  const std::vector<double> got = span_probabilities(logits, counted);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(-3.0);
  EXPECT_NEAR(got[0], std::exp(1.0) / sum, 1e-12);
  EXPECT_EQ(got[1], 0.0);
  EXPECT_NEAR(got[2], std::exp(2.0) / sum, 1e-12);
  EXPECT_NEAR(got[3], std::exp(-3.0) / sum, 1e-12);
  // Masked tokens have a logit of -10000, as in the reference: that shows below it.
  const std::vector<double> low =
      span_probabilities(std::vector<float>{-10001, 0}, std::vector<uint8_t>{1, 0});
  EXPECT_NEAR(low[0], std::exp(-1.0) / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_TRUE(span_probabilities({}, {}).empty());
}

TEST(SpanDecoding, RefusesNumbersThatAreNone) {
  const std::vector<uint8_t> counted = {1, 0};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  test::expect_error(ErrorCode::kInvalidFile, {"no finite number"}, [&] {
    span_probabilities(std::vector<float>{nan, 0}, counted);
  });
  EXPECT_EQ(span_probabilities(std::vector<float>{0, nan}, counted)[0], 1.0);
}

}  // namespace
}  // namespace longformer::tasks
