// One layer of an encoder and the types that its steps read rows in.
#pragma once

#include "ops/attention_block.h"
#include "ops/feed_forward_block.h"
#include "ops/residual.h"

namespace longformer {

struct EncoderLayer {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

// Columns of the product in front of the activation.
inline int64_t inner_columns(const FeedForwardWeights& weights) {
  return weights.inner.weight.out_features();
}

}  // namespace longformer
