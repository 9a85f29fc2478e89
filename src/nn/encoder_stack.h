// A stack of encoder layers over a ragged batch: the graph that all families share. Where a layer
// normalises, whether its feed-forward half is gated and whether its positions are rotary is in its
// weights and in its context.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attention/plan.h"
#include "nn/column_layer.h"
#include "nn/encoder_layer.h"
#include "nn/tile_layer.h"
#include "ops/embedding.h"
#include "ops/global_attention.h"
#include "tensor/arena.h"

namespace longformer {

class ThreadPool;

// Working memory of a stack, reused from call to call; grows to the largest batch it has seen.
struct EncoderWorkspace {
  Arena planes;
  std::vector<TileScratch> tiles;  // one a thread
  ColumnLayer columns;
  GlobalAttention global;
};

// Called before layer 0 (layer = -1) and after each layer, on the caller's thread, with x [rows,
// hidden]. Returning false stops the run.
using LayerObserver = std::function<bool(int64_t layer, const float* x)>;

// Which of the two ways a layer takes; the bits are the same. kBest: by the number of rows.
enum class LayerWay { kBest, kTiles, kColumns };

// Whether kBest cuts a layer over `rows` rows into columns.
bool by_columns(int64_t rows, int threads);

struct StackOptions {
  LayerWay way = LayerWay::kBest;
  // Increasing rows of the batch that the caller reads of the last layer's output; the others
  // become zeros. Empty: all.
  std::span<const int64_t> wanted;
};

// contexts: one a layer, their plans over the same batch (equal lengths, heads, valid and global
// tokens); pointers may repeat. Global tokens need post-norm layers. x: [rows, hidden], the
// embeddings; becomes the output of the last layer. Returns false when `observe` stopped it.
bool run_encoder(const std::vector<EncoderLayer>& layers, const std::vector<LayerContext>& contexts,
                 int64_t head_dim, float* x, EncoderWorkspace& workspace,
                 const LayerObserver& observe, ThreadPool& pool, const StackOptions& options = {});

}  // namespace longformer
