#include "nn/encoder_stack.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "nn/last_layer.h"

namespace longformer {
namespace {

// Below this many rows a thread, a layer is cut into columns instead of tiles.
constexpr int64_t kRowsOfAThread = 128;

// Whether keys lie at the same places for both plans, which are over the same batch.
bool same_key_rows(const AttentionPlan& a, const AttentionPlan& b) {
  const auto same = [](const HeadGroup& x, const HeadGroup& y) {
    return x.dilation == y.dilation && x.heads == y.heads;
  };
  return a.key_rows == b.key_rows &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same);
}

class Stack {
 public:
  Stack(int64_t head_dim, EncoderWorkspace& workspace, ThreadPool& pool,
        const StackOptions& options)
      : head_dim_(head_dim), workspace_(workspace), pool_(pool), options_(options) {}

  // Buffers for a layer whose plan differs from the one before.
  void prepare(const EncoderLayer& layer, const AttentionPlan& plan) {
    if (&plan == prepared_) return;  // layers with one window share a plan and its buffers
    if (prepared_ == nullptr || !same_key_rows(plan, *prepared_)) {
      // Rows that no token owns are read by rounded key spans and must be zeros, not what a batch
      // before left there.
      planes_ = zeroed_planes(workspace_.planes, plan.pattern.heads * plan.key_rows * head_dim_,
                              plane_type(layer.attention));
    }
    prepared_ = &plan;
    by_columns_ = options_.way == LayerWay::kColumns ||
                  (options_.way == LayerWay::kBest && by_columns(plan.rows, pool_.threads()));
    workspace_.global.resize(plan, head_dim_, pool_.threads());
    if (by_columns_) {
      workspace_.columns.resize(layer, plan, head_dim_, pool_.threads());
      return;
    }
    tiles_ = make_row_tiles(plan, pool_.threads());
    resize_tiles(layer, plan, tiles_);
  }

  void run(const EncoderLayer& layer, const LayerContext& context, float* x) {
    workspace_.global.run(*context.plan, layer.attention, x, pool_);
    if (by_columns_) {
      workspace_.columns.attend(layer, context, head_dim_, x, planes_, workspace_.global.context(),
                                pool_);
      workspace_.columns.finish(layer, context.plan->rows, workspace_.columns.attended(), x, x,
                                pool_);
      return;
    }
    const int64_t hidden = context.plan->pattern.heads * head_dim_;
    const int64_t count = static_cast<int64_t>(tiles_.size());
    pool_.run(count, [&](int64_t t, int worker) {
      tile_keys_values(layer, context, head_dim_, x, {tiles_[t].begin, tiles_[t].end}, planes_,
                       workspace_.tiles[worker]);
    });
    pool_.run(count, [&](int64_t t, int worker) {
      TileScratch& scratch = workspace_.tiles[worker];
      tile_attend(layer, context, head_dim_, x, tiles_[t], planes_, workspace_.global.context(),
                  scratch.context_rows, scratch);
      float* rows = x + tiles_[t].begin * hidden;
      tile_finish(layer, tiles_[t].rows(), scratch.context_rows, rows, rows, scratch);
    });
  }

  // The last layer, for options.wanted alone.
  void run_wanted(const EncoderLayer& layer, const LayerContext& context, float* x) {
    const AttentionPlan& plan = *context.plan;
    const int64_t hidden = plan.pattern.heads * head_dim_;
    const std::span<const int64_t> wanted = options_.wanted;
    const int64_t rows = static_cast<int64_t>(wanted.size());
    workspace_.global.run(plan, layer.attention, x, pool_);
    std::vector<float> attended(static_cast<size_t>(rows * hidden));
    std::vector<float> y(attended.size());
    if (by_columns_) {
      workspace_.columns.attend(layer, context, head_dim_, x, planes_, workspace_.global.context(),
                                pool_);
      gather_wanted(wanted, 0, plan.rows, hidden, workspace_.columns.attended(), attended.data());
    } else {
      attend_wanted(layer, context, x, attended.data());
      gather_wanted_globals(plan, wanted, hidden, workspace_.global.context(), attended.data());
    }
    gather_wanted(wanted, 0, plan.rows, hidden, x, y.data());
    finish(layer, rows, attended.data(), y.data());
    scatter_wanted(wanted, plan.rows, hidden, y.data(), x);
  }

 private:
  void attend_wanted(const EncoderLayer& layer, const LayerContext& context, const float* x,
                     float* attended) {
    const LastLayerPlan last = plan_last_layer(*context.plan, options_.wanted, pool_.threads());
    const int64_t hidden = context.plan->pattern.heads * head_dim_;
    resize_tiles(layer, *context.plan, last.tiles);  // blocks are grouped anew
    pool_.run(static_cast<int64_t>(last.key_rows.size()), [&](int64_t i, int worker) {
      tile_keys_values(layer, context, head_dim_, x, last.key_rows[i], planes_,
                       workspace_.tiles[worker]);
    });
    pool_.run(static_cast<int64_t>(last.tiles.size()), [&](int64_t t, int worker) {
      TileScratch& scratch = workspace_.tiles[worker];
      const RowTile& tile = last.tiles[t];
      tile_attend(layer, context, head_dim_, x, tile, planes_, workspace_.global.context(),
                  scratch.context_rows, scratch);
      gather_wanted(options_.wanted, tile.begin, tile.rows(), hidden, scratch.context_rows,
                    attended);
    });
  }

  // What stands behind attention, of few rows as of many.
  void finish(const EncoderLayer& layer, int64_t rows, const float* attended, float* y) {
    if (by_columns_ || rows < kRowsOfAThread * pool_.threads()) {
      if (!by_columns_) {
        workspace_.columns.resize_for_finish(layer, head_dim_, rows, pool_.threads());
      }
      return workspace_.columns.finish(layer, rows, attended, y, y, pool_);
    }
    const int64_t hidden = layer.feed_forward.outer.weight.out_features();
    pool_.run((rows + kTileRows - 1) / kTileRows, [&](int64_t t, int worker) {
      const int64_t at = t * kTileRows * hidden;
      tile_finish(layer, std::min(kTileRows, rows - t * kTileRows), attended + at, y + at, y + at,
                  workspace_.tiles[worker]);
    });
  }

  void resize_tiles(const EncoderLayer& layer, const AttentionPlan& plan,
                    std::span<const RowTile> tiles) {
    const int64_t rows = options_.wanted.empty() ? 0 : std::min(kTileRows, plan.rows);
    workspace_.tiles.resize(static_cast<size_t>(pool_.threads()));
    for (TileScratch& scratch : workspace_.tiles) {
      scratch.resize(layer, plan, head_dim_, tiles, rows);
    }
  }

  const int64_t head_dim_;
  EncoderWorkspace& workspace_;
  ThreadPool& pool_;
  const StackOptions& options_;
  const AttentionPlan* prepared_ = nullptr;
  bool by_columns_ = false;
  std::vector<RowTile> tiles_;
  KeyValuePlanes planes_;
};

}  // namespace

bool by_columns(int64_t rows, int threads) {
  return kernels::splits_columns() && rows < kRowsOfAThread * threads;
}

bool run_encoder(const std::vector<EncoderLayer>& layers, const std::vector<LayerContext>& contexts,
                 int64_t head_dim, float* x, EncoderWorkspace& workspace,
                 const LayerObserver& observe, ThreadPool& pool, const StackOptions& options) {
  if (!observe(-1, x)) return false;
  Stack stack(head_dim, workspace, pool, options);
  for (size_t l = 0; l < layers.size(); ++l) {
    stack.prepare(layers[l], *contexts[l].plan);
    if (l + 1 == layers.size() && !options.wanted.empty()) {
      stack.run_wanted(layers[l], contexts[l], x);
    } else {
      stack.run(layers[l], contexts[l], x);
    }
    if (!observe(static_cast<int64_t>(l), x)) return false;
  }
  return true;
}

}  // namespace longformer
