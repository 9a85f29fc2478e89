// The re-associated global rows against attention with the projections written out, in double
// precision.
#include "ops/global_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "attention/reference.h"
#include "base/thread_pool.h"

namespace longformer {
namespace {

struct Case {
  AttentionPattern pattern;
  int64_t head_dim = 8;
};

struct Projections {
  AttentionWeights weights;
  std::vector<float> q, k, v;  // [hidden, hidden]
};

std::vector<float> random_values(std::mt19937& engine, int64_t count, float deviation) {
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

Projections random_projections(std::mt19937& engine, int64_t hidden) {
  Projections p;
  const auto make = [&](Matrix& matrix, std::vector<float>& bias) {
    std::vector<float> values = random_values(engine, hidden * hidden, 0.2f);
    matrix = Matrix(make_tensor({hidden, hidden}, std::span<const float>(values)));
    bias = random_values(engine, hidden, 0.3f);
    return values;
  };
  p.q = make(p.weights.query_global.weight, p.weights.query_global.bias);
  p.k = make(p.weights.key_global.weight, p.weights.key_global.bias);
  p.v = make(p.weights.value_global.weight, p.weights.value_global.bias);
  return p;
}

std::vector<double> project(const std::vector<float>& x, const std::vector<float>& weight,
                            const std::vector<float>& bias, int64_t hidden, double scale) {
  std::vector<double> y(x.size());
  for (size_t r = 0; r < x.size() / hidden; ++r) {
    for (int64_t o = 0; o < hidden; ++o) {
      double sum = bias[o];
      for (int64_t i = 0; i < hidden; ++i)
        sum += double{x[r * hidden + i]} * weight[o * hidden + i];
      y[r * hidden + o] = sum * scale;
    }
  }
  return y;
}

std::vector<float> run(const Case& c, const AttentionPlan& plan, const Projections& p,
                       const std::vector<float>& x, int threads) {
  ThreadPool pool(threads);
  GlobalAttention global;
  global.resize(plan, c.head_dim, threads);
  global.run(plan, p.weights, x.data(), pool);
  int64_t rows = 0;
  for (const GlobalRows& entry : plan.global_rows) rows += static_cast<int64_t>(entry.rows.size());
  if (rows == 0) return {};
  return {global.context(), global.context() + rows * c.pattern.heads * c.head_dim};
}

void expect_matches_reference(const Case& c, uint32_t seed) {
  std::mt19937 engine(seed);
  const AttentionPlan plan = compile(c.pattern);
  const int64_t hidden = c.pattern.heads * c.head_dim;
  const Projections p = random_projections(engine, hidden);
  const std::vector<float> x = random_values(engine, plan.rows * hidden, 1.0f);

  ReferenceInputs in;
  in.head_dim = c.head_dim;
  in.q = in.k = in.v = std::vector<double>(x.size(), 0.0);
  in.global_q = project(x, p.q, p.weights.query_global.bias, hidden,
                        1 / std::sqrt(static_cast<double>(c.head_dim)));
  in.global_k = project(x, p.k, p.weights.key_global.bias, hidden, 1);
  in.global_v = project(x, p.v, p.weights.value_global.bias, hidden, 1);
  const std::vector<double> want = attention_reference(c.pattern, in).out;

  const std::vector<float> got = run(c, plan, p, x, 2);
  size_t index = 0;
  for (const GlobalRows& entry : plan.global_rows) {
    for (const int64_t row : entry.rows) {
      for (int64_t i = 0; i < hidden; ++i, ++index) {
        ASSERT_NEAR(got[index], want[row * hidden + i], 2e-5)
            << "seed " << seed << " row " << row << " column " << i;
      }
    }
  }
  EXPECT_EQ(index, got.size());
  for (const int threads : {1, 3}) EXPECT_EQ(got, run(c, plan, p, x, threads)) << "seed " << seed;
}

TEST(GlobalAttention, MatchesProjectionsWrittenOut) {
  std::mt19937 engine(7);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Case c;
    c.head_dim = std::vector<int64_t>{8, 16, 5, 32}[engine() % 4];
    c.pattern.heads = 1 + engine() % 3;
    const int64_t sequences = 1 + engine() % 3;
    for (int64_t s = 0; s < sequences; ++s) {
      const int64_t length = 1 + engine() % 90;
      c.pattern.lengths.push_back(length);
      std::vector<int64_t> global;
      std::vector<Interval> valid;
      for (int64_t t = 0; t < length; ++t) {
        if (engine() % 5 == 0) global.push_back(t);
        if (engine() % 6 != 0) valid.push_back({t, t + 1});
      }
      c.pattern.global.push_back(global);
      c.pattern.valid.push_back(valid);
    }
    c.pattern.window = Window{4, 4};
    expect_matches_reference(c, seed);
  }
}

// Several key blocks of kGlobalBlock, and more queries than one job takes.
TEST(GlobalAttention, MergesBlocks) {
  Case c;
  c.pattern.lengths = {2 * kGlobalBlock + 77};
  c.pattern.heads = 2;
  c.pattern.window = Window{8, 8};
  std::vector<int64_t> global;
  for (int64_t t = 0; t < 40; ++t) global.push_back(t * 50);
  c.pattern.global = {global};
  expect_matches_reference(c, 3);
}

// Whatever stands in masked rows, NaN included, reaches no global row.
TEST(GlobalAttention, MaskedRowsHaveNoInfluence) {
  Case c;
  c.pattern.lengths = {50};
  c.pattern.heads = 2;
  c.pattern.window = Window{4, 4};
  c.pattern.global = {{3, 10}};
  c.pattern.valid = {{{0, 20}, {25, 40}}};
  const AttentionPlan plan = compile(c.pattern);
  std::mt19937 engine(1);
  const Projections p = random_projections(engine, 16);
  std::vector<float> x = random_values(engine, 50 * 16, 1.0f);
  const std::vector<float> before = run(c, plan, p, x, 1);
  for (const int64_t row : {20, 24, 40, 49}) {
    for (int64_t i = 0; i < 16; ++i) x[row * 16 + i] = std::numeric_limits<float>::quiet_NaN();
  }
  EXPECT_EQ(before, run(c, plan, p, x, 1));
}

}  // namespace
}  // namespace longformer
