// The way back through one encoder layer: from d_y, the derivative of the loss by its output, to
// d_x, by its input, and to those by its weights. tile_layer.h with a record is the way there.
//
//   post-norm  s1 = x + drop(Wo · attention(x)), a = LN1(s1), s2 = a + drop(f(a)), y = LN2(s2)
//   pre-norm   s1 = x + drop(Wo · attention(LN1(x))), y = s1 + drop(f(LN2(s1)))
//
// Bits do not depend on the number of threads: rows go in tiles of kTileRows counted from row 0,
// whose shares of the norms' derivatives are added in order; add_weight_gradients() and
// attention_backward() say the same of theirs. Cost: twice the layer's linear products, the first
// product of the feed-forward half once more, and 2.5 times its attention.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layer_record.h"
#include "nn/trained_layer.h"
#include "ops/global_attention_backward.h"
#include "tensor/arena.h"

namespace longformer {

class ThreadPool;

struct LayerBackwardInputs {
  const EncoderLayer& layer;
  const TrainedLayer& trained;
  const LayerContext& context;
  const LayerRecord& record;
  const GlobalRecord& global;
  const float* x = nullptr;  // [rows, hidden], the layer's input
};

// Working memory, kept from layer to layer.
struct LayerBackwardWorkspace {
  Arena arena;
  std::vector<Arena> threads;
  GlobalAttentionBackward global;
};

// d_y, d_x: [rows, hidden]; d_x may be d_y.
void layer_backward(const LayerBackwardInputs& inputs, int64_t head_dim, const float* d_y,
                    float* d_x, LayerBackwardWorkspace& workspace, ThreadPool& pool);

// About the bytes that a workspace takes.
uint64_t layer_backward_bytes(const EncoderLayer& layer, const AttentionPlan& plan,
                              int64_t head_dim, int threads);

}  // namespace longformer
