// A stack of encoder layers over a ragged batch: the graph that all families share. Where a layer
// normalises, whether its feed-forward half is gated and whether its positions are rotary is in its
// weights and in its context.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attention/plan.h"
#include "ops/attention_block.h"
#include "ops/embedding.h"
#include "ops/feed_forward_block.h"
#include "ops/global_attention.h"
#include "tensor/arena.h"

namespace longformer {

class ThreadPool;

struct EncoderLayer {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

// Working memory of a stack, reused from call to call; grows to the largest batch it has seen.
struct EncoderWorkspace {
  Arena planes;
  std::vector<BlockScratch> scratch;  // one a thread
  GlobalAttention global;
};

// Called before layer 0 (layer = -1) and after each layer, on the caller's thread, with x [rows,
// hidden]. Returning false stops the run.
using LayerObserver = std::function<bool(int64_t layer, const float* x)>;

// contexts: one a layer, their plans over the same batch (equal lengths, heads, valid and global
// tokens); pointers may repeat. Global tokens need post-norm layers. x: [rows, hidden], the
// embeddings; becomes the output of the last layer. Returns false when `observe` stopped it.
bool run_encoder(const std::vector<EncoderLayer>& layers, const std::vector<LayerContext>& contexts,
                 int64_t head_dim, float* x, EncoderWorkspace& workspace,
                 const LayerObserver& observe, ThreadPool& pool);

}  // namespace longformer
