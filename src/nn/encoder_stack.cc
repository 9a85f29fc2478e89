#include "nn/encoder_stack.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"

namespace longformer {
namespace {

// One layer in two passes over row tiles (three where tokens are global): keys and values of all
// rows; then per tile everything else, written in place. Between passes every thread waits, since a
// tile reads keys of other tiles.
void run_layer(const EncoderLayer& layer, const AttentionPlan& plan,
               const std::vector<RowTile>& tiles, int64_t head_dim, float* x,
               const KeyValuePlanes& planes, EncoderWorkspace& workspace, ThreadPool& pool) {
  const int64_t hidden = plan.pattern.heads * head_dim;
  const int64_t count = static_cast<int64_t>(tiles.size());
  workspace.global.run(plan, layer.attention, x, pool);
  pool.run(count, [&](int64_t t, int worker) {
    project_keys_values(plan, layer.attention, head_dim, x, tiles[t], planes,
                        workspace.scratch[worker]);
  });
  pool.run(count, [&](int64_t t, int worker) {
    BlockScratch& scratch = workspace.scratch[worker];
    const RowTile& tile = tiles[t];
    float* attended = scratch.attended.data();
    attention_block(plan, layer.attention, head_dim, x, tile, planes, workspace.global.context(),
                    attended, scratch);
    feed_forward_block(layer.feed_forward, tile.rows(), attended, x + tile.begin * hidden,
                       scratch.intermediate.data(), scratch.projected.data());
  });
}

}  // namespace

bool run_encoder(const std::vector<EncoderLayer>& layers,
                 const std::vector<const AttentionPlan*>& plans, int64_t head_dim, float* x,
                 EncoderWorkspace& workspace, const LayerObserver& observe, ThreadPool& pool) {
  if (!observe(-1, x)) return false;
  const AttentionPlan* prepared = nullptr;
  std::vector<RowTile> tiles;
  KeyValuePlanes planes;
  for (size_t l = 0; l < layers.size(); ++l) {
    const AttentionPlan& plan = *plans[l];
    if (&plan != prepared) {  // layers with one window share a plan and its buffers
      prepared = &plan;
      const int64_t hidden = plan.pattern.heads * head_dim;
      tiles = make_row_tiles(plan, pool.threads());
      const int64_t plane = plan.pattern.heads * plan.key_rows * head_dim;
      workspace.planes.reset(2 * Arena::bytes_for(plane));
      planes = {workspace.planes.floats(plane), workspace.planes.floats(plane)};
      // Rows that no token owns are read by rounded key spans and must be zeros, not what a batch
      // before left there.
      std::memset(planes.k, 0, static_cast<size_t>(plane) * sizeof(float));
      std::memset(planes.v, 0, static_cast<size_t>(plane) * sizeof(float));
      workspace.scratch.resize(static_cast<size_t>(pool.threads()));
      const int64_t intermediate = layers[l].feed_forward.inner.weight.out_features();
      for (BlockScratch& scratch : workspace.scratch)
        scratch.resize(plan, tiles, hidden, intermediate);
      workspace.global.resize(plan, head_dim, pool.threads());
    }
    run_layer(layers[l], plan, tiles, head_dim, x, planes, workspace, pool);
    if (!observe(static_cast<int64_t>(l), x)) return false;
  }
  return true;
}

}  // namespace longformer
