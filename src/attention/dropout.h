// Dropout of attention probabilities, after the softmax: O = (P ∘ Z / keep) V. A plan is made once;
// what is dropped changes with each step, so it goes to the kernels beside the plan.
#pragma once

#include <cstdint>
#include <span>

#include "attention/plan.h"
#include "kernels/dropout.h"

namespace longformer {

// A draw for each (sequence, head, query position, key position), whatever the batch and the tiles
// are.
struct AttentionDropout {
  kernels::DropoutRule rule;
  std::span<const uint64_t> sequence_keys;  // well mixed, of this layer and step
  // Key of the draws of one query; the index is the position of the key in the sequence.
  uint64_t row_key(int64_t sequence, int64_t head, int64_t position) const noexcept;
};

// The draws of one tile in one head.
class TileDropout {
 public:
  TileDropout(const AttentionPlan& plan, const QueryTile& tile, int64_t head,
              const AttentionDropout& dropout);

  // x [tile.rows][width], its columns the key rows of the tile's group from `first_key` on.
  void drop_keys(int64_t first_key, int64_t width, float* x) const noexcept;
  // x [tile.rows][width], its columns the global columns of the tile's sequence from `first` on.
  void drop_globals(int64_t first, int64_t count, int64_t width, float* x) const noexcept;

 private:
  const AttentionPlan& plan_;
  const QueryTile& tile_;
  kernels::DropoutRule rule_;
  uint32_t position_ = 0;  // of the first query
  uint64_t row_keys_[kQueryRows];
};

}  // namespace longformer
