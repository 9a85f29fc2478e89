// The ways through a layer give the same bits: row tiles, columns, the last layer for some rows,
// and a long sequence in slices; in each precision that runs here.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "attention/align.h"
#include "base/thread_pool.h"
#include "nn/encoder_stack.h"
#include "nn/encoder_stream.h"

namespace longformer {
namespace {

struct Shape {
  int64_t heads = 2;
  int64_t head_dim = 32;
  int64_t intermediate = 256;
  NormPlacement placement = NormPlacement::kPost;
  FeedForwardKind kind = FeedForwardKind::kPlain;
  int64_t hidden() const { return heads * head_dim; }
};

class Maker {
 public:
  explicit Maker(uint32_t seed) : engine_(seed) {}
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(limit));
  }
  std::vector<float> values(int64_t count, float deviation, float mean = 0) {
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> result(static_cast<size_t>(count));
    for (float& value : result) value = normal(engine_);
    return result;
  }
  Linear linear(int64_t out, int64_t in, DType type) {
    return {kernels::PackedMatrix::pack(values(out * in, 0.1f).data(), out, in, type),
            values(out, 0.1f)};
  }
  LayerNorm norm(int64_t width) { return {values(width, 0.1f, 1), values(width, 0.1f), 1e-5f}; }

  EncoderLayer layer(const Shape& shape, DType type, bool globals) {
    const int64_t hidden = shape.hidden();
    EncoderLayer layer;
    AttentionWeights& a = layer.attention;
    for (Linear* linear_of : {&a.query, &a.key, &a.value, &a.output}) {
      *linear_of = linear(hidden, hidden, type);
    }
    a.norm = norm(hidden);
    a.placement = shape.placement;
    if (globals) {
      for (GlobalProjection* projection : {&a.query_global, &a.key_global, &a.value_global}) {
        const std::vector<float> weight = values(hidden * hidden, 0.1f);
        *projection = {Matrix(make_tensor({hidden, hidden}, std::span<const float>(weight))),
                       values(hidden, 0.1f)};
      }
    }
    FeedForwardWeights& f = layer.feed_forward;
    const int64_t gates = shape.kind == FeedForwardKind::kGated ? 2 : 1;
    f.inner = linear(gates * shape.intermediate, hidden, type);
    f.outer = linear(hidden, shape.intermediate, type);
    f.norm = norm(hidden);
    f.placement = shape.placement;
    f.kind = shape.kind;
    return layer;
  }

 private:
  std::mt19937 engine_;
};

std::vector<DType> weight_types() {
  std::vector<DType> types = {DType::kF32};
  for (const DType type : {DType::kBF16, DType::kI8}) {
    if (kernels::supports(type)) types.push_back(type);
  }
  return types;
}

Shape random_shape(Maker& make) {
  Shape shape;
  const int64_t head_dims[] = {32, 64, 36, 80, 128};
  shape.head_dim = head_dims[make.below(5)];
  shape.heads = 1 + make.below(4);
  shape.intermediate = make.below(2) == 0 ? 256 : 200;
  if (make.below(3) == 0) shape.placement = NormPlacement::kPre;
  if (make.below(3) == 0) shape.kind = FeedForwardKind::kGated;
  return shape;
}

std::vector<EncoderLayer> random_layers(Maker& make, const Shape& shape, DType type, bool globals,
                                        ThreadPool& pool) {
  std::vector<EncoderLayer> layers;
  pool.run(1, [&](int64_t, int) {
    for (int l = 0; l < 2; ++l) layers.push_back(make.layer(shape, type, globals));
  });
  return layers;
}

AttentionPattern random_batch(Maker& make, const Shape& shape) {
  AttentionPattern pattern;
  pattern.heads = shape.heads;
  for (int64_t s = 1 + make.below(4); s > 0; --s) pattern.lengths.push_back(1 + make.below(150));
  if (make.below(4) != 0) pattern.window = Window{make.below(60), make.below(60)};
  if (pattern.window && make.below(3) == 0) {
    pattern.dilation.assign(static_cast<size_t>(shape.heads), 1 + make.below(3));
    pattern.dilation[0] = 1;
  }
  if (shape.placement == NormPlacement::kPost && make.below(2) == 0) {
    for (const int64_t length : pattern.lengths) {
      pattern.global.push_back({0});
      if (length > 9) pattern.global.back().push_back(length / 2);
    }
  }
  return pattern;
}

std::vector<float> run(const std::vector<EncoderLayer>& layers, const AttentionPlan& plan,
                       int64_t head_dim, std::vector<float> x, int threads,
                       const StackOptions& options) {
  ThreadPool pool(threads);
  EncoderWorkspace workspace;
  const std::vector<LayerContext> contexts(layers.size(), LayerContext{&plan, nullptr});
  EXPECT_TRUE(run_encoder(
      layers, contexts, head_dim, x.data(), workspace, [](int64_t, const float*) { return true; },
      pool, options));
  return x;
}

// x [rows, cols] with zeros in all rows but those wanted.
std::vector<float> zeros_but(const std::vector<int64_t>& wanted, int64_t cols,
                             std::vector<float> x) {
  for (int64_t row = 0; row < static_cast<int64_t>(x.size()) / cols; ++row) {
    if (std::binary_search(wanted.begin(), wanted.end(), row)) continue;
    std::fill_n(x.begin() + row * cols, cols, 0.0f);
  }
  return x;
}

TEST(LayerWays, TilesAndColumnsGiveTheSameBits) {
  ThreadPool pool(1);
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Maker make(seed);
    const Shape shape = random_shape(make);
    const AttentionPattern pattern = random_batch(make, shape);
    const AttentionPlan plan = compile(pattern);
    const std::vector<float> x = make.values(plan.rows * shape.hidden(), 1);
    for (const DType type : weight_types()) {
      SCOPED_TRACE(to_string(pattern) + ", seed " + std::to_string(seed) + ", " +
                   std::string(dtype_name(type)));
      const std::vector<EncoderLayer> layers =
          random_layers(make, shape, type, !pattern.global.empty(), pool);
      const std::vector<float> tiles =
          run(layers, plan, shape.head_dim, x, 1, {.way = LayerWay::kTiles});
      EXPECT_NE(tiles, x);
      for (const int threads : {1, 2, 3, 8}) {
        EXPECT_EQ(run(layers, plan, shape.head_dim, x, threads, {.way = LayerWay::kColumns}), tiles)
            << threads << " threads, columns";
        EXPECT_EQ(run(layers, plan, shape.head_dim, x, threads, {.way = LayerWay::kTiles}), tiles)
            << threads << " threads, tiles";
      }
      if (HasFailure()) return;
    }
  }
}

TEST(LayerWays, WantedRowsAreThoseOfAllRowsAndOthersZero) {
  ThreadPool pool(1);
  for (uint32_t seed = 100; seed < 130; ++seed) {
    Maker make(seed);
    const Shape shape = random_shape(make);
    const AttentionPattern pattern = random_batch(make, shape);
    const AttentionPlan plan = compile(pattern);
    SCOPED_TRACE(to_string(pattern) + ", seed " + std::to_string(seed));
    const std::vector<float> x = make.values(plan.rows * shape.hidden(), 1);
    const std::vector<EncoderLayer> layers =
        random_layers(make, shape, weight_types().back(), !pattern.global.empty(), pool);
    std::vector<int64_t> wanted;  // often only first tokens, which may all be global
    if (make.below(2) == 0) {
      wanted.assign(plan.sequence_begin.begin(), plan.sequence_begin.end() - 1);
    } else {
      for (int64_t row = make.below(20); row < plan.rows; row += 1 + make.below(90)) {
        wanted.push_back(row);
      }
    }
    if (wanted.empty()) wanted.push_back(plan.rows - 1);
    const std::vector<float> expected = zeros_but(
        wanted, shape.hidden(), run(layers, plan, shape.head_dim, x, 2, {.way = LayerWay::kTiles}));
    for (const LayerWay way : {LayerWay::kTiles, LayerWay::kColumns}) {
      for (const int threads : {1, 3}) {
        EXPECT_EQ(run(layers, plan, shape.head_dim, x, threads, {.way = way, .wanted = wanted}),
                  expected)
            << threads << " threads";
      }
    }
    if (HasFailure()) return;
  }
}

// The blocks of wanted rows are grouped anew, and such a tile may hold more queries than any of all
// rows.
TEST(LayerWays, WantedRowsOfManyShortTexts) {
  ThreadPool pool(1);
  for (uint32_t seed = 300; seed < 330; ++seed) {
    Maker make(seed);
    const Shape shape = random_shape(make);
    AttentionPattern pattern;
    pattern.heads = shape.heads;
    const int64_t longest = 8 + make.below(90);
    for (int64_t s = 3 + make.below(20); s > 0; --s) {
      pattern.lengths.push_back(1 + make.below(longest));
    }
    pattern.window = Window{20, 20};
    const AttentionPlan plan = compile(pattern);
    SCOPED_TRACE(to_string(pattern) + ", seed " + std::to_string(seed));
    const std::vector<float> x = make.values(plan.rows * shape.hidden(), 1);
    const std::vector<EncoderLayer> layers = random_layers(make, shape, DType::kF32, false, pool);
    std::vector<int64_t> wanted;
    const bool last = make.below(2) == 0;
    for (size_t s = 0; s < pattern.lengths.size(); ++s) {
      wanted.push_back(last ? plan.sequence_begin[s + 1] - 1 : plan.sequence_begin[s]);
    }
    const std::vector<float> expected = zeros_but(
        wanted, shape.hidden(), run(layers, plan, shape.head_dim, x, 1, {.way = LayerWay::kTiles}));
    EXPECT_EQ(run(layers, plan, shape.head_dim, x, 1, {.way = LayerWay::kTiles, .wanted = wanted}),
              expected);
    if (HasFailure()) return;
  }
}

TEST(LayerWays, AStreamGivesTheBitsOfTheWhole) {
  ThreadPool pool(2);
  for (uint32_t seed = 200; seed < 220; ++seed) {
    Maker make(seed);
    Shape shape = random_shape(make);
    StreamSettings settings;
    settings.rows = 1 + make.below(7000);
    settings.head_dim = shape.head_dim;
    settings.pattern.heads = shape.heads;
    const std::vector<EncoderLayer> layers =
        random_layers(make, shape, weight_types()[seed % weight_types().size()], false, pool);
    for (size_t l = 0; l < layers.size(); ++l) {
      settings.windows.push_back({make.below(200), make.below(200)});
      settings.dilations.push_back(make.below(2) == 0 ? 1 : 1 + make.below(16));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rows " + std::to_string(settings.rows) +
                 ", dilations " + std::to_string(settings.dilations[0]) + " " +
                 std::to_string(settings.dilations[1]));
    const std::vector<float> x = make.values(settings.rows * shape.hidden(), 1);

    std::vector<AttentionPlan> plans;
    std::vector<LayerContext> contexts;
    for (size_t l = 0; l < layers.size(); ++l) {
      AttentionPattern pattern = settings.pattern;
      pattern.lengths = {settings.rows};
      pattern.window = settings.windows[l];
      pattern.dilation.assign(static_cast<size_t>(shape.heads), settings.dilations[l]);
      plans.push_back(compile(pattern));
    }
    for (const AttentionPlan& plan : plans) contexts.push_back({&plan, nullptr});
    std::vector<float> whole = x;
    EncoderWorkspace workspace;
    run_encoder(
        layers, contexts, shape.head_dim, whole.data(), workspace,
        [](int64_t, const float*) { return true; }, pool);

    EncoderStream stream(layers, settings, pool);
    std::vector<float> streamed;
    for (int64_t row = 0; row < settings.rows;) {
      const int64_t count = std::min(1 + make.below(stream.step_rows()), settings.rows - row);
      stream.push(count, x.data() + row * shape.hidden(),
                  [&](int64_t first, std::span<const float> states) {
                    EXPECT_EQ(first * shape.hidden(), static_cast<int64_t>(streamed.size()));
                    streamed.insert(streamed.end(), states.begin(), states.end());
                  });
      row += count;
    }
    EXPECT_EQ(streamed.size(), whole.size());
    EXPECT_EQ(streamed, whole);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace longformer
