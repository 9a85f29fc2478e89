#include "nn/encoder_stack.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"

namespace longformer {
namespace {

// One layer in two passes over row tiles (three where tokens are global): keys and values of all
// rows; then per tile everything else, written in place. Between passes every thread waits, since a
// tile reads keys of other tiles.
void run_layer(const EncoderLayer& layer, const LayerContext& context,
               const std::vector<RowTile>& tiles, int64_t head_dim, float* x,
               const KeyValuePlanes& planes, EncoderWorkspace& workspace, ThreadPool& pool) {
  const int64_t hidden = context.plan->pattern.heads * head_dim;
  const int64_t count = static_cast<int64_t>(tiles.size());
  workspace.global.run(*context.plan, layer.attention, x, pool);
  pool.run(count, [&](int64_t t, int worker) {
    project_keys_values(context, layer.attention, head_dim, x, tiles[t], planes,
                        workspace.scratch[worker]);
  });
  pool.run(count, [&](int64_t t, int worker) {
    BlockScratch& scratch = workspace.scratch[worker];
    const RowTile& tile = tiles[t];
    float* attended = scratch.attended.data();
    attention_block(context, layer.attention, head_dim, x, tile, planes, workspace.global.context(),
                    attended, scratch);
    feed_forward_block(layer.feed_forward, tile.rows(), attended, x + tile.begin * hidden,
                       scratch.intermediate.data(), scratch.projected.data());
  });
}

// Whether keys lie at the same places for both plans, which are over the same batch.
bool same_key_rows(const AttentionPlan& a, const AttentionPlan& b) {
  const auto same = [](const HeadGroup& x, const HeadGroup& y) {
    return x.dilation == y.dilation && x.heads == y.heads;
  };
  return a.key_rows == b.key_rows &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same);
}

// Rows that no token owns are read by rounded key spans and must be zeros, not what a batch before
// left there.
KeyValuePlanes cleared_planes(const AttentionPlan& plan, int64_t head_dim, Arena& arena) {
  const int64_t plane = plan.pattern.heads * plan.key_rows * head_dim;
  arena.reset(2 * Arena::bytes_for(plane));
  const KeyValuePlanes planes{arena.floats(plane), arena.floats(plane)};
  std::memset(planes.k, 0, static_cast<size_t>(plane) * sizeof(float));
  std::memset(planes.v, 0, static_cast<size_t>(plane) * sizeof(float));
  return planes;
}

}  // namespace

bool run_encoder(const std::vector<EncoderLayer>& layers, const std::vector<LayerContext>& contexts,
                 int64_t head_dim, float* x, EncoderWorkspace& workspace,
                 const LayerObserver& observe, ThreadPool& pool) {
  if (!observe(-1, x)) return false;
  const AttentionPlan* prepared = nullptr;
  std::vector<RowTile> tiles;
  KeyValuePlanes planes;
  for (size_t l = 0; l < layers.size(); ++l) {
    const AttentionPlan& plan = *contexts[l].plan;
    if (&plan != prepared) {  // layers with one window share a plan and its buffers
      tiles = make_row_tiles(plan, pool.threads());
      if (prepared == nullptr || !same_key_rows(plan, *prepared)) {
        planes = cleared_planes(plan, head_dim, workspace.planes);
      }
      prepared = &plan;
      workspace.scratch.resize(static_cast<size_t>(pool.threads()));
      const int64_t intermediate = layers[l].feed_forward.inner.weight.out_features();
      for (BlockScratch& scratch : workspace.scratch)
        scratch.resize(plan, tiles, plan.pattern.heads * head_dim, intermediate);
      workspace.global.resize(plan, head_dim, pool.threads());
    }
    run_layer(layers[l], contexts[l], tiles, head_dim, x, planes, workspace, pool);
    if (!observe(static_cast<int64_t>(l), x)) return false;
  }
  return true;
}

}  // namespace longformer
