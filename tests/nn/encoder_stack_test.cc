// What the stack promises beyond its numbers (those are compared in tests/models/encoder_test.cc).
#include "nn/encoder_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"

namespace longformer {
namespace {

Linear identity(int64_t out, int64_t in) {
  std::vector<float> weight(static_cast<size_t>(out * in));
  for (int64_t i = 0; i < std::min(out, in); ++i) weight[i * in + i] = 1;
  return {kernels::PackedMatrix::pack(weight.data(), out, in),
          std::vector<float>(static_cast<size_t>(out))};
}

LayerNorm plain_norm(int64_t width) {
  return {std::vector<float>(static_cast<size_t>(width), 1),
          std::vector<float>(static_cast<size_t>(width)), 1e-5f};
}

EncoderLayer make_layer(int64_t width) {
  EncoderLayer layer;
  AttentionWeights& attention = layer.attention;
  attention.query = attention.key = attention.value = attention.output = identity(width, width);
  attention.norm = plain_norm(width);
  layer.feed_forward.inner = identity(2 * width, width);
  layer.feed_forward.outer = identity(width, 2 * width);
  layer.feed_forward.norm = plain_norm(width);
  return layer;
}

AttentionPlan plan_of(std::vector<int64_t> lengths, int64_t reach, int64_t dilation = 1) {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = std::move(lengths);
  pattern.window = Window{reach, reach};
  pattern.dilation.assign(2, dilation);
  return compile(pattern);
}

class EncoderStack : public testing::Test {
 protected:
  void SetUp() override {
    pool_.run(1, [&](int64_t, int) {
      for (int i = 0; i < 3; ++i) layers_.push_back(make_layer(kWidth));
    });
  }

  static std::vector<float> states(int64_t rows) {
    std::vector<float> x(static_cast<size_t>(rows * kWidth));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 101) / 50 - 1;
    return x;
  }

  static std::vector<LayerContext> contexts(const std::vector<const AttentionPlan*>& plans) {
    std::vector<LayerContext> list;
    for (const AttentionPlan* plan : plans) list.push_back({plan});
    return list;
  }

  std::vector<float> run(const std::vector<const AttentionPlan*>& plans,
                         EncoderWorkspace& workspace, const LayerObserver& observe) {
    std::vector<float> x = states(plans[0]->rows);
    run_encoder(layers_, contexts(plans), kWidth / 2, x.data(), workspace, observe, pool_);
    return x;
  }

  static constexpr int64_t kWidth = 16;
  ThreadPool pool_{2};
  std::vector<EncoderLayer> layers_;
};

TEST_F(EncoderStack, ObservesEmbeddingsAndEachLayer) {
  const AttentionPlan plan = plan_of({40}, 4);
  EncoderWorkspace workspace;
  std::vector<int64_t> seen;
  run({&plan, &plan, &plan}, workspace, [&](int64_t layer, const float*) {
    seen.push_back(layer);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<int64_t>{-1, 0, 1, 2}));
}

TEST_F(EncoderStack, StopsWhenTheObserverSaysSo) {
  const AttentionPlan plan = plan_of({40}, 4);
  EncoderWorkspace workspace;
  std::vector<float> x = states(40);
  int calls = 0;
  const bool finished = run_encoder(
      layers_, contexts({&plan, &plan, &plan}), kWidth / 2, x.data(), workspace,
      [&](int64_t, const float*) { return ++calls < 2; }, pool_);
  EXPECT_FALSE(finished);
  EXPECT_EQ(calls, 2);
}

// The planes keep what an earlier, larger batch wrote; a later one must not see it.
TEST_F(EncoderStack, ForgetsEarlierBatches) {
  const auto always = [](int64_t, const float*) { return true; };
  const AttentionPlan small = plan_of({5, 70}, 4), large = plan_of({300, 33}, 9),
                      wide = plan_of({5, 70}, 20);
  EncoderWorkspace fresh, used;
  const std::vector<float> want = run({&small, &wide, &small}, fresh, always);
  run({&large, &large, &large}, used, always);
  EXPECT_EQ(want, run({&small, &wide, &small}, used, always));
}

// Layers with other windows share the planes of keys; with another dilation keys move, and what an
// earlier layer left between them must not be seen.
TEST_F(EncoderStack, PlansMayDifferInEachLayer) {
  const auto always = [](int64_t, const float*) { return true; };
  const AttentionPlan plain = plan_of({5, 70}, 4), wide = plan_of({5, 70}, 20),
                      dilated = plan_of({5, 70}, 4, 3);
  EncoderWorkspace together;
  std::vector<float> one_by_one = states(75);
  for (size_t l = 0; l < layers_.size(); ++l) {
    EncoderWorkspace alone;
    const AttentionPlan* const plans[] = {&dilated, &plain, &wide};
    run_encoder({layers_[l]}, {LayerContext{plans[l]}}, kWidth / 2, one_by_one.data(), alone,
                always, pool_);
  }
  EXPECT_EQ(one_by_one, run({&dilated, &plain, &wide}, together, always));
}

// A layer with the gate and the norms in front, against the formula.
TEST_F(EncoderStack, PreNormLayerIsTheFormula) {
  EncoderLayer layer;
  pool_.run(1, [&](int64_t, int) {
    layer = make_layer(kWidth);
    layer.attention.placement = layer.feed_forward.placement = NormPlacement::kPre;
    layer.attention.norm = {};  // the identity
    layer.feed_forward.kind = FeedForwardKind::kGated;
    layer.feed_forward.activation = kernels::Activation::kRelu;
    layer.feed_forward.outer = identity(kWidth, kWidth);
    // Both halves of the inner product are the input: relu(h) * h.
    std::vector<float> twice(static_cast<size_t>(2 * kWidth * kWidth));
    for (int64_t i = 0; i < kWidth; ++i) {
      twice[i * kWidth + i] = twice[(kWidth + i) * kWidth + i] = 1;
    }
    layer.feed_forward.inner = {kernels::PackedMatrix::pack(twice.data(), 2 * kWidth, kWidth),
                                std::vector<float>(2 * kWidth)};
  });
  const AttentionPlan plan = plan_of({9}, 0);  // a token sees itself alone: attention gives x
  EncoderWorkspace workspace;
  const std::vector<float> x = states(9);
  std::vector<float> y = x;
  run_encoder(
      {layer}, {LayerContext{&plan}}, kWidth / 2, y.data(), workspace,
      [](int64_t, const float*) { return true; }, pool_);
  for (int64_t r = 0; r < 9; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < kWidth; ++c) mean += 2.0 * x[r * kWidth + c] / kWidth;
    for (int64_t c = 0; c < kWidth; ++c)
      variance += std::pow(2.0 * x[r * kWidth + c] - mean, 2) / kWidth;
    for (int64_t c = 0; c < kWidth; ++c) {
      const double a = 2.0 * x[r * kWidth + c];
      const double h = (a - mean) / std::sqrt(variance + 1e-5);
      EXPECT_NEAR(y[r * kWidth + c], a + std::max(h, 0.0) * h, 1e-5) << r << " " << c;
    }
  }
}

}  // namespace
}  // namespace longformer
