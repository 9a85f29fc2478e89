// The tiled kernel against the dense reference in double precision.
#include "attention/forward.h"

#include <gtest/gtest.h>

#include <limits>

#include "forward_case.h"
#include "longformer/error.h"

namespace longformer {
namespace {

using testing::ForwardInputs;
using testing::ForwardOutputs;
using testing::Random;
using testing::random_inputs;
using testing::random_pattern;
using testing::repro;
using testing::run_forward;
using testing::run_reference;
using testing::test_cases;

constexpr double kTolerance = 2e-5;  // of the largest element

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    if (std::isfinite(value)) result = std::max(result, std::abs(value));
  }
  return result;
}

// Largest difference relative to the largest element; infinities must stand in the same places.
double relative_error(const std::vector<float>& actual, const std::vector<double>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  const double scale = std::max(largest(expected), 1e-30);
  double error = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (std::isinf(expected[i])) {
      if (static_cast<double>(actual[i]) != expected[i]) return HUGE_VAL;
      continue;
    }
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]) / scale;
    if (!(difference <= error)) error = difference;  // a NaN sticks
    if (std::isnan(difference)) return difference;
  }
  return error;
}

void expect_reference(const AttentionPattern& pattern, const ForwardInputs& inputs,
                      ThreadPool& pool) {
  const ForwardOutputs actual = run_forward(pattern, inputs, pool);
  const ReferenceOutputs expected = run_reference(pattern, inputs);
  EXPECT_LE(relative_error(actual.out, expected.out), kTolerance) << "head_dim " << inputs.head_dim;
  EXPECT_LE(relative_error(actual.lse, expected.lse), kTolerance) << "head_dim " << inputs.head_dim;
}

TEST(AttentionForward, RandomPatternsEqualTheReference) {
  const int64_t head_dims[] = {1, 7, 8, 16, 32, 33, 64, 80, 96, 128};
  ThreadPool pool(2);
  for (int64_t seed = 0; seed < test_cases(100); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 3'000'000);
    const AttentionPattern pattern = random_pattern(random);
    SCOPED_TRACE(repro(static_cast<uint64_t>(seed) + 3'000'000, pattern));
    const int64_t head_dim = head_dims[seed % 10];
    const float spread = random.chance(30) ? 6.0f : 1.0f;  // flat and peaked rows
    expect_reference(pattern, random_inputs(random, pattern, head_dim, spread), pool);
    if (HasFailure()) return;
  }
}

TEST(AttentionForward, LengthsAroundTheWindow) {
  ThreadPool pool(1);
  const int64_t w = 24;
  for (const int64_t length : {int64_t{1}, w - 1, w, w + 1, 2 * w - 1, 2 * w, 2 * w + 1}) {
    for (const int64_t dilation : {1, 2}) {
      AttentionPattern pattern;
      pattern.heads = 2;
      pattern.lengths = {length};
      pattern.window = Window{w, w};
      pattern.dilation = {1, dilation};
      SCOPED_TRACE(to_string(pattern));
      Random random(static_cast<uint64_t>(length));
      expect_reference(pattern, random_inputs(random, pattern, 16), pool);
    }
  }
}

TEST(AttentionForward, LongSequencesOfManyTiles) {
  ThreadPool pool(2);
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {650, 300};
  pattern.window = Window{100, 37};
  pattern.dilation = {1, 3};
  pattern.global = {{0, 301, 649}, {7}};
  pattern.valid = {{{0, 500}, {520, 650}}, {{20, 300}}};
  Random random(11);
  expect_reference(pattern, random_inputs(random, pattern, 64), pool);
}

TEST(AttentionForward, MoreGlobalsThanATileHasRows) {
  ThreadPool pool(2);
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {300};
  pattern.window = Window{10, 10};
  pattern.dilation = {1, 2};
  pattern.global.resize(1);
  for (int64_t g = 0; g < 300; g += 2) pattern.global[0].push_back(g);  // 150
  Random random(12);
  expect_reference(pattern, random_inputs(random, pattern, 32), pool);
  pattern.valid = {{{5, 200}, {210, 280}}};
  expect_reference(pattern, random_inputs(random, pattern, 32), pool);
}

TEST(AttentionForward, MoreGlobalsThanAStripHasKeys) {
  // All tokens but the last are global: with shared projections that is full attention, by another
  // way.
  AttentionPattern full;
  full.heads = 2;
  full.lengths = {2101};
  AttentionPattern pattern = full;
  pattern.window = Window{0, 0};
  pattern.dilation = {1, 2};
  pattern.global_projections = false;
  pattern.global.resize(1);
  for (int64_t g = 0; g < 2100; ++g) pattern.global[0].push_back(g);
  ThreadPool pool(2);
  Random random(17);
  const ForwardInputs inputs = random_inputs(random, pattern, 8);
  const ForwardOutputs actual = run_forward(pattern, inputs, pool);
  const ForwardOutputs expected = run_forward(full, inputs, pool);
  for (size_t i = 0; i < actual.out.size(); ++i) {
    ASSERT_NEAR(actual.out[i], expected.out[i], 2e-6) << i;
  }
  for (size_t i = 0; i < actual.lse.size(); ++i) {
    ASSERT_NEAR(actual.lse[i], expected.lse[i], 2e-5) << i;
  }
}

// Selected rows of a long pattern, straight from |i - j| <= reach.
void expect_rows(const AttentionPattern& pattern, int64_t reach, int64_t head_dim) {
  ThreadPool pool(2);
  Random random(13);
  const ForwardInputs inputs = random_inputs(random, pattern, head_dim);
  const ForwardOutputs actual = run_forward(pattern, inputs, pool);
  const int64_t n = pattern.lengths[0];
  const auto at = [&](int64_t i, int64_t c) { return static_cast<size_t>(i * head_dim + c); };
  for (int64_t i = 0; i < n; i += i < n - 140 ? 131 : 1) {
    std::vector<double> out(static_cast<size_t>(head_dim), 0.0);
    double sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - reach); j <= std::min(n - 1, i + reach); ++j) {
      double score = 0;
      for (int64_t c = 0; c < head_dim; ++c) {
        score += double{inputs.q[at(i, c)]} * double{inputs.k[at(j, c)]};
      }
      sum += std::exp(score);  // scores are small: no maximum needed
      for (int64_t c = 0; c < head_dim; ++c) {
        out[static_cast<size_t>(c)] += std::exp(score) * double{inputs.v[at(j, c)]};
      }
    }
    EXPECT_NEAR(actual.lse[static_cast<size_t>(i)], std::log(sum), 2e-5 * std::log(sum)) << i;
    for (int64_t c = 0; c < head_dim; ++c) {
      ASSERT_NEAR(actual.out[at(i, c)], out[static_cast<size_t>(c)] / sum, 2e-6) << i << " " << c;
    }
  }
}

TEST(AttentionForward, FullAttentionOverSeveralStrips) {
  AttentionPattern pattern;
  pattern.lengths = {5000};
  expect_rows(pattern, 5000, 8);
}

TEST(AttentionForward, WindowOfSeveralStrips) {
  AttentionPattern pattern;
  pattern.lengths = {5000};
  pattern.window = Window{2048, 2048};  // attention_window 4096
  expect_rows(pattern, 2048, 8);
}

TEST(AttentionForward, LaterStripsMayHoldTheMaximum) {
  AttentionPattern pattern;
  pattern.lengths = {4200};
  ThreadPool pool(1);
  Random random(14);
  ForwardInputs inputs = random_inputs(random, pattern, 1);
  std::fill(inputs.q.begin(), inputs.q.end(), 1.0f);
  for (size_t j = 0; j < inputs.k.size(); ++j) inputs.k[j] = static_cast<float>(j) * 0.05f;
  const ForwardOutputs actual = run_forward(pattern, inputs, pool);
  double sum = 0;
  double weighted = 0;
  for (size_t j = 0; j < inputs.k.size(); ++j) {
    const double weight = std::exp(double{inputs.k[j]} - double{inputs.k.back()});
    sum += weight;
    weighted += weight * double{inputs.v[j]};
  }
  EXPECT_NEAR(actual.out[100], weighted / sum, 1e-5);
  EXPECT_NEAR(actual.lse[100], double{inputs.k.back()} + std::log(sum), 1e-3);
}

TEST(AttentionForward, GlobalRowsOverSeveralBlocks) {
  AttentionPattern pattern;
  pattern.lengths = {1250};
  pattern.window = Window{0, 0};
  pattern.global = {{2, 1100}};
  pattern.valid = {{{2, 800}, {850, 1200}}};  // blocks [2, 1026) and [1026, 1200)
  ThreadPool pool(2);
  Random random(15);
  expect_reference(pattern, random_inputs(random, pattern, 8), pool);
}

TEST(AttentionForward, LseMayBeLeftOut) {
  ThreadPool pool(1);
  AttentionPattern pattern;
  pattern.lengths = {50};
  pattern.window = Window{5, 5};
  pattern.global = {{3}};
  Random random(16);
  const ForwardInputs inputs = random_inputs(random, pattern, 8);
  const ForwardOutputs expected = run_forward(pattern, inputs, pool);
  std::vector<float> out(expected.out.size());
  attention_forward(compile(pattern), 8, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                    {inputs.global_q.data(), inputs.global_k.data(), inputs.global_v.data()},
                    out.data(), nullptr, pool);
  EXPECT_EQ(out, expected.out);
}

TEST(AttentionForward, RefusesHeadSizesAndMissingProjections) {
  ThreadPool pool(1);
  AttentionPattern pattern;
  pattern.lengths = {4};
  pattern.global = {{1}};
  const AttentionPlan plan = compile(pattern);
  std::vector<float> data(4 * 257, 0.0f);
  std::vector<float> out(4 * 257);
  const float* x = data.data();
  for (const int64_t head_dim : {int64_t{0}, int64_t{-1}, int64_t{257}}) {
    try {
      attention_forward(plan, head_dim, x, x, x, {x, x, x}, out.data(), nullptr, pool);
      ADD_FAILURE() << head_dim;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("head_dim is " + std::to_string(head_dim)),
                std::string::npos);
    }
  }
  EXPECT_THROW(attention_forward(plan, 8, x, x, x, {}, out.data(), nullptr, pool), Error);
  EXPECT_NO_THROW(attention_forward(plan, 256, x, x, x, {x, x, x}, out.data(), nullptr, pool));
}

TEST(AttentionForward, EmptyBatches) {
  ThreadPool pool(2);
  AttentionPattern pattern;
  EXPECT_TRUE(run_forward(pattern, {8, {}, {}, {}, {}, {}, {}}, pool).out.empty());
  pattern.lengths = {0, 0};
  EXPECT_TRUE(run_forward(pattern, {8, {}, {}, {}, {}, {}, {}}, pool).out.empty());
}

}  // namespace
}  // namespace longformer
