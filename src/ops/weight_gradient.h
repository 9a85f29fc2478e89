// Derivatives by the weights of linear layers y = x Wᵀ + b:
//   dW[o, i] += Σ_r dy[r, o] x[r, i]        db[o] += Σ_r dy[r, o]
// Rows are visited in chunks of kGradientRows, counted from row 0, in their order, and a block of
// dW belongs to one task: the bits do not depend on the number of threads. The wider of the two
// operands is cut into slices of kSliceColumns, copied so that products have dense operands; the
// other one stays whole. Cost: 2 · rows · out · in FLOP a layer.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/operands.h"
#include "tensor/arena.h"

namespace longformer {

class ThreadPool;

inline constexpr int64_t kGradientRows = 512;

// Where the derivatives of a linear layer are added; null: not wanted.
struct LinearGradient {
  float* weight = nullptr;  // [out, in]
  float* bias = nullptr;    // [out]
};

// Dense rows [rows, out] and [rows, in] of the same type, kF32 or kBF16.
struct WeightGradientJob {
  LinearGradient gradient;
  kernels::Rows d_y;
  kernels::Rows x;
  int64_t out_features = 0;
  int64_t in_features = 0;
};

// Adds to all gradients of the jobs, which must not overlap.
void add_weight_gradients(const std::vector<WeightGradientJob>& jobs, int64_t rows,
                          ThreadPool& pool);
// About the bytes that it takes for layers of up to `features` features on the narrower side.
uint64_t weight_gradient_bytes(int64_t features, int threads);

}  // namespace longformer
