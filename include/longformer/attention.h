// Where the tokens of a batch look, layer by layer: the probabilities behind the states of
// encoder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace longformer {

// What one head makes of one token. Both as long as there are keys that the token counts, and no
// more; empty where it counts none (padding of a Longformer).
struct AttentionLinks {
  std::span<const int32_t> keys;   // rows of the batch; heads may share the memory
  std::span<const float> weights;  // probabilities, their sum is 1
};

// One token of the batch in one layer.
struct AttentionRow {
  int64_t row = 0;
  bool global = false;     // it looks at its whole sequence, through projections of its own
  size_t global_keys = 0;  // so many keys in front are global tokens, by position; 0 where global
  std::span<const AttentionLinks> heads;  // the other keys follow by position
};
using AttentionVisitor = std::function<void(const AttentionRow&)>;

struct LayerAttention {
  int64_t layer = 0;
  int64_t heads = 0;
  // Calls the visitor for every row in order, on the caller's thread; what it is given is valid
  // until it returns. Nothing of the size tokens x tokens is held. The numbers do not depend on the
  // number of threads.
  std::function<void(const AttentionVisitor&)> visit;
};

}  // namespace longformer
