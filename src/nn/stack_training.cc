#include "nn/stack_training.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace longformer {

float* StackTraining::begin(int64_t layers, int64_t rows, int64_t hidden) {
  layers_ = layers;
  rows_ = rows;
  hidden_ = hidden;
  inputs_.reset(static_cast<size_t>(layers + 1) * Arena::bytes_for(rows * hidden));
  x_.clear();
  for (int64_t l = 0; l <= layers; ++l) x_.push_back(inputs_.floats(rows * hidden));
  packed_.assign(static_cast<size_t>(layers), {});
  return x_.front();
}

// Layers [first, first + count), a thread each.
void StackTraining::pack(const StackStep& step, int64_t first, int64_t count, ThreadPool& pool) {
  pool.run(count, [&](int64_t i, int) {
    packed_[static_cast<size_t>(first + i)] = step.layer(first + i);
  });
}

const float* StackTraining::forward(const StackStep& step, ThreadPool& pool) {
  const bool kept = step.activations == Activations::kKept;
  records_.resize(static_cast<size_t>(kept ? layers_ : 1));
  globals_.resize(records_.size());
  const int64_t group = pool.threads();
  for (int64_t l = 0; l < layers_; ++l) {
    if (l % group == 0) pack(step, l, std::min(group, layers_ - l), pool);
    const auto index = static_cast<size_t>(kept ? l : 0);
    run_layer(step, l, records_[index], globals_[index], pool);
    if (!kept) packed_[static_cast<size_t>(l)] = {};
    if (step.observer) step.observer(Direction::kForward, l, x_[static_cast<size_t>(l) + 1]);
  }
  return x_.back();
}

void StackTraining::run_layer(const StackStep& step, int64_t layer, LayerRecord& record,
                              GlobalRecord& global, ThreadPool& pool) {
  const auto index = static_cast<size_t>(layer);
  const EncoderLayer& weights = packed_[index];
  const LayerContext& context = step.contexts[index];
  const AttentionPlan& plan = *context.plan;
  const float* const x = x_[index];
  float* const y = x_[index + 1];
  record.resize(weights, plan, step.head_dim);
  record.dropout = step.dropout.empty() ? nullptr : &step.dropout[index];
  global_.resize(plan, step.head_dim, pool.threads());
  global_.run(plan, weights.attention, x, pool, record.attend_record().dropout, &global);
  const std::vector<RowTile> tiles = make_row_tiles(plan, pool.threads());
  tiles_.resize(static_cast<size_t>(pool.threads()));
  for (TileScratch& scratch : tiles_) scratch.resize(weights, plan, step.head_dim, tiles);
  const auto count = static_cast<int64_t>(tiles.size());
  pool.run(count, [&](int64_t t, int worker) {
    tile_keys_values(weights, context, step.head_dim, x, {tiles[t].begin, tiles[t].end},
                     record.planes, tiles_[static_cast<size_t>(worker)]);
  });
  pool.run(count, [&](int64_t t, int worker) {
    TileScratch& scratch = tiles_[static_cast<size_t>(worker)];
    const RowTile& tile = tiles[static_cast<size_t>(t)];
    const int64_t at = tile.begin * hidden_;
    tile_attend(weights, context, step.head_dim, x, tile, record.planes, global_.context(),
                record.context + at, scratch, &record);
    tile_finish(weights, tile.rows(), record.context + at, x + at, y + at, scratch, &record,
                tile.begin);
  });
}

void StackTraining::backward(const StackStep& step, float* d, ThreadPool& pool) {
  const bool kept = step.activations == Activations::kKept;
  const int64_t group = pool.threads();
  int64_t packed_from = layers_;
  for (int64_t l = layers_ - 1; l >= step.lowest; --l) {
    const auto index = static_cast<size_t>(l);
    const auto at = kept ? index : size_t{0};
    if (!kept && l < packed_from) {
      packed_from = std::max(step.lowest, l + 1 - group);
      pack(step, packed_from, l + 1 - packed_from, pool);
    }
    if (!kept) run_layer(step, l, records_[at], globals_[at], pool);
    layer_backward({packed_[index], step.trained[index], step.contexts[index], records_[at],
                    globals_[at], x_[index]},
                   step.head_dim, d, d, backward_, pool);
    packed_[index] = {};
    if (step.observer) step.observer(Direction::kBackward, l, d);
  }
}

uint64_t StackTraining::bytes_for(const EncoderLayer& layer,
                                  std::span<const AttentionPlan* const> plans, int64_t head_dim,
                                  Activations activations, int threads) {
  uint64_t inputs = 0;
  uint64_t records = 0;
  uint64_t largest_record = 0;
  uint64_t scratch = 0;
  for (const AttentionPlan* plan : plans) {
    const uint64_t record = LayerRecord::bytes_for(layer, *plan, head_dim);
    const std::vector<RowTile> tiles = make_row_tiles(*plan, threads);
    inputs += Arena::bytes_for(plan->rows * plan->pattern.heads * head_dim);
    records += record;
    largest_record = std::max(largest_record, record);
    scratch = std::max(scratch, layer_backward_bytes(layer, *plan, head_dim, threads) +
                                    GlobalAttention::bytes_for(*plan, head_dim, threads) +
                                    static_cast<uint64_t>(threads) *
                                        TileScratch::bytes_for(layer, *plan, head_dim, tiles));
  }
  return inputs + scratch + (activations == Activations::kKept ? records : largest_record);
}

}  // namespace longformer
