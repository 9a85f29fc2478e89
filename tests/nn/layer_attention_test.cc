// The probabilities of a layer against their definition in double precision, straight from count().
#include "nn/layer_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/thread_pool.h"

namespace longformer {
namespace {

constexpr int64_t kHeads = 3;
constexpr int64_t kHeadDim = 8;
constexpr int64_t kHidden = kHeads * kHeadDim;

struct Projection {
  std::vector<float> weight, bias;
};

std::vector<float> draw(std::mt19937& engine, int64_t count, float deviation) {
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

Projection draw_projection(std::mt19937& engine) {
  return {draw(engine, kHidden * kHidden, 0.4f), draw(engine, kHidden, 0.4f)};
}

Linear packed(const Projection& from) {
  return {kernels::PackedMatrix::pack(from.weight.data(), kHidden, kHidden), from.bias};
}

GlobalProjection stored(const Projection& from) {
  return {Matrix(make_tensor({kHidden, kHidden}, std::span<const float>(from.weight))), from.bias};
}

class LayerAttentionTest : public testing::Test {
 protected:
  LayerAttentionTest() {
    std::mt19937 engine(7);
    for (Projection* p : {&query_, &key_, &global_query_, &global_key_}) {
      *p = draw_projection(engine);
    }
    ThreadPool pool(1);
    pool.run(1, [&](int64_t, int) {
      layer_.attention.query = packed(query_);
      layer_.attention.key = packed(key_);
    });
    layer_.attention.query_global = stored(global_query_);
    layer_.attention.key_global = stored(global_key_);
  }

  struct Row {
    bool global = false;
    size_t global_keys = 0;
    std::vector<std::vector<int32_t>> keys;
    std::vector<std::vector<float>> weights;
    bool operator==(const Row&) const = default;
  };

  std::vector<Row> probe(const AttentionPattern& pattern, const std::vector<float>& x,
                         int threads) {
    ThreadPool pool(threads);
    const AttentionPlan plan = compile(pattern);
    AttentionProbe probe(layer_, {&plan}, kHeadDim, x.data(), pool);
    std::vector<Row> rows;
    probe.visit([&](const AttentionRow& seen) {
      EXPECT_EQ(seen.row, static_cast<int64_t>(rows.size()));  // all of them, in order
      Row row{seen.global, seen.global_keys, {}, {}};
      for (const AttentionLinks& links : seen.heads) {
        row.keys.emplace_back(links.keys.begin(), links.keys.end());
        row.weights.emplace_back(links.weights.begin(), links.weights.end());
      }
      rows.push_back(std::move(row));
    });
    EXPECT_EQ(static_cast<int64_t>(rows.size()), plan.rows);
    return rows;
  }

  static double project(const Projection& p, const float* x, int64_t column) {
    double sum = p.bias[column];
    for (int64_t i = 0; i < kHidden; ++i) {
      sum += static_cast<double>(p.weight[column * kHidden + i]) * x[i];
    }
    return sum;
  }

  // p(i, j) of one row and head for the positions of its sequence.
  std::vector<double> dense(const AttentionPattern& pattern, int64_t sequence, int64_t head,
                            int64_t i, const float* x) const {
    const bool global = is_global(pattern, sequence, i);
    std::vector<double> weights(static_cast<size_t>(pattern.lengths[sequence]));
    double sum = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      const auto key = static_cast<int64_t>(j);
      if (count(pattern, sequence, head, i, key) == 0) continue;
      double score = 0;
      for (int64_t c = head * kHeadDim; c < (head + 1) * kHeadDim; ++c) {
        score += project(global ? global_query_ : query_, x + i * kHidden, c) *
                 project(global ? global_key_ : key_, x + key * kHidden, c);
      }
      weights[j] = std::exp(score / std::sqrt(static_cast<double>(kHeadDim)));
      sum += weights[j];
    }
    if (sum > 0) {
      for (double& weight : weights) weight /= sum;
    }
    return weights;
  }

  void expect_definition(const AttentionPattern& pattern) {
    std::mt19937 engine(3);
    int64_t total = 0;
    for (const int64_t length : pattern.lengths) total += length;
    const std::vector<float> x = draw(engine, total * kHidden, 0.7f);
    const std::vector<Row> rows = probe(pattern, x, 2);
    EXPECT_EQ(rows, probe(pattern, x, 3));
    int64_t first = 0;
    for (size_t s = 0; s < pattern.lengths.size(); ++s) {
      const auto sequence = static_cast<int64_t>(s);
      for (int64_t i = 0; i < pattern.lengths[s]; ++i) {
        const Row& row = rows[static_cast<size_t>(first + i)];
        EXPECT_EQ(row.global, is_global(pattern, sequence, i));
        for (int64_t h = 0; h < kHeads; ++h) {
          const std::vector<double> want =
              dense(pattern, sequence, h, i, x.data() + first * kHidden);
          expect_row(pattern, sequence, row, h, first, want);
        }
      }
      first += pattern.lengths[s];
    }
  }

  static void expect_row(const AttentionPattern& pattern, int64_t sequence, const Row& row,
                         int64_t head, int64_t first, const std::vector<double>& want) {
    const auto& keys = row.keys[static_cast<size_t>(head)];
    const auto& weights = row.weights[static_cast<size_t>(head)];
    ASSERT_EQ(keys.size(), weights.size());
    std::vector<double> got(want.size(), 0.0);
    for (size_t k = 0; k < keys.size(); ++k) {
      const int64_t position = keys[k] - first;
      ASSERT_GE(position, 0);
      ASSERT_LT(position, static_cast<int64_t>(got.size()));
      got[static_cast<size_t>(position)] += weights[k];
      // Global keys in front, each part by position.
      EXPECT_EQ(k < row.global_keys, !row.global && is_global(pattern, sequence, position));
      if (k > 0 && k != row.global_keys) {
        EXPECT_LT(keys[k - 1], keys[k]);
      }
    }
    size_t counted = 0;
    double sum = 0;
    for (size_t j = 0; j < want.size(); ++j) {
      EXPECT_NEAR(got[j], want[j], 3e-6);
      counted += want[j] > 0;
      sum += got[j];
    }
    EXPECT_EQ(keys.size(), counted);
    if (counted > 0) {
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }

  static AttentionPattern pattern_of(std::vector<int64_t> lengths) {
    AttentionPattern pattern;
    pattern.heads = kHeads;
    pattern.lengths = std::move(lengths);
    return pattern;
  }

  Projection query_, key_, global_query_, global_key_;
  EncoderLayer layer_;
};

TEST_F(LayerAttentionTest, WindowsOfARaggedBatch) {
  AttentionPattern pattern = pattern_of({1, 70, 300, 17});
  pattern.window = Window{9, 5};
  expect_definition(pattern);
}

TEST_F(LayerAttentionTest, FullAttentionWithMaskedKeysWhoseQueriesAttend) {
  AttentionPattern pattern = pattern_of({40, 33});
  pattern.valid = {{{3, 20}, {21, 40}}, {}};
  pattern.masked_query = MaskedQuery::kAttend;
  expect_definition(pattern);
}

TEST_F(LayerAttentionTest, GlobalTokensInsideAndOutsideTheWindowAndMasked) {
  AttentionPattern pattern = pattern_of({90, 5, 64});
  pattern.window = Window{6, 6};
  pattern.global = {{0, 7, 50, 88}, {}, {1}};
  pattern.valid = {{{0, 60}, {61, 80}}, {{0, 5}}, {{2, 64}}};
  expect_definition(pattern);
}

TEST_F(LayerAttentionTest, HeadsWithDilationsOfTheirOwn) {
  AttentionPattern pattern = pattern_of({150, 20});
  pattern.window = Window{4, 4};
  pattern.dilation = {1, 3, 2};
  pattern.global = {{10, 149}, {0}};
  pattern.valid = {{{0, 30}, {40, 150}}, {{0, 20}}};
  expect_definition(pattern);
}

// More keys than a strip holds, and more than one partial block of a global row.
TEST_F(LayerAttentionTest, SeveralStrips) {
  AttentionPattern pattern = pattern_of({2300});
  pattern.global = {{5}};
  std::mt19937 engine(3);
  const std::vector<float> x = draw(engine, 2300 * kHidden, 0.7f);
  const std::vector<Row> rows = probe(pattern, x, 2);
  for (const int64_t i : {0, 5, 1100, 2299}) {
    expect_row(pattern, 0, rows[static_cast<size_t>(i)], 1, 0, dense(pattern, 0, 1, i, x.data()));
  }
}

}  // namespace
}  // namespace longformer
