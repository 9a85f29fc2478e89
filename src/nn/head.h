// What stands on an encoder: logits = W_o norm(act(W_d x + b_d)) + b_o, dense and norm where there
// are any. A row's bits depend on that row alone. Cost: 2 · rows · hidden · (hidden + outputs)
// FLOP.
#pragma once

#include <cstdint>

#include "kernels/rowwise.h"
#include "ops/weights.h"
#include "tensor/dtype.h"

namespace longformer {

class ThreadPool;

// norm(act(W x + b)); an absent dense layer or norm is the identity.
struct StateTransform {
  Linear dense;  // [hidden, hidden]
  kernels::Activation activation = kernels::Activation::kTanh;
  LayerNorm norm;
};
// x: [rows, hidden], in place.
void transform_states(const StateTransform& transform, int64_t rows, int64_t hidden, float* x,
                      ThreadPool& pool);

struct Head {
  StateTransform transform;
  Linear output;  // [outputs, hidden]
};
// x: [rows, hidden], used up; logits: [rows, outputs].
void run_head(const Head& head, int64_t rows, int64_t hidden, float* x, float* logits,
              ThreadPool& pool);

// Bytes that run_head() takes beside x and logits, for matrices that are multiplied as `type`.
uint64_t head_scratch_bytes(int64_t hidden, int64_t outputs, DType type, int64_t rows, int threads);

}  // namespace longformer
