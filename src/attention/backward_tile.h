// One tile of one head backwards: the five products of backward.h for each strip of keys.
#pragma once

#include <cstdint>
#include <span>

#include "attention/dropout.h"
#include "attention/plan.h"
#include "tensor/arena.h"
#include "tensor/dtype.h"

namespace longformer {

// Keys of one strip: two strips of scores, and what else five products touch, stay in the
// second-level cache.
inline constexpr int64_t kBackwardKeys = 320;

// Working memory of one thread; sized once, reused.
class BackwardScratch {
 public:
  // type: of the tiles, kF32 or kBF16.
  void resize(const AttentionPlan& plan, int64_t head_dim, DType type);

  struct Parts {
    float* scores = nullptr;           // [kQueryRows][kBackwardKeys]
    float* d_scores = nullptr;         // the same
    void* rounded_scores = nullptr;    // the same in bf16; only for bf16
    void* rounded_d_scores = nullptr;  // the same
    void* queries = nullptr;           // [kQueryRows][head_dim]
    void* d_out = nullptr;             // the same
    void* gathered = nullptr;          // keys, then values of global columns
  };
  const Parts& parts() const noexcept { return parts_; }

 private:
  Arena arena_;
  Parts parts_;
};

// Key rows [begin, end) whose derivatives stand from `row` on.
struct KeyInterval {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t row = 0;
};

// Where derivatives by keys and values are added up.
struct KeySums {
  std::span<const KeyInterval> intervals;  // increasing, disjoint
  float* k = nullptr;                      // rows of the intervals
  float* v = nullptr;
  float* global_k = nullptr;  // of the global columns, rounded up to kGatherAlign
  float* global_v = nullptr;

  // Of a key row; those behind it in its interval follow.
  int64_t row_of(int32_t key) const noexcept;
};

// T: float, or BFloat16 where kernels::supports(kBF16).
template <typename T>
struct BackwardTile {
  const T* q = nullptr;  // [tile.rows][head_dim], scaled
  const T* k = nullptr;  // the head's planes
  const T* v = nullptr;
  const float* logsumexp = nullptr;  // [tile.rows]
  const float* out = nullptr;        // row r at out + r * stride, d_out likewise
  const float* d_out = nullptr;
  int64_t stride = 0;
  float* d_q = nullptr;  // [tile.rows rounded up to kRowAlign][head_dim]; overwritten
};

// adds [plan.rows]: whether what comes out of a row has a derivative here.
template <typename T>
void attention_tile_backward(const AttentionPlan& plan, const QueryTile& tile, int64_t head_dim,
                             const BackwardTile<T>& inputs, const uint8_t* adds,
                             const TileDropout* dropout, const KeySums& sums,
                             BackwardScratch& scratch);

}  // namespace longformer
