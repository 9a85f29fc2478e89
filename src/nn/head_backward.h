// A head in training: forward, loss and back, a chunk of rows at a time, so that the logits of a
// vocabulary exist for one chunk only. nn/head.h is the same head without a loss.
//   h = drop_in(x), z = dense(h), n = drop_out(norm(act(z))), logits = output(n)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/dropout.h"
#include "nn/head.h"
#include "nn/trained_layer.h"

namespace longformer {

class ThreadPool;

struct TrainedHead {
  TrainedLinear dense, output;  // dense.weight null: the head has none
  NormGradient norm;
};

// Row keys of the head's rows; none: no dropout.
struct HeadDropout {
  kernels::DropoutRule in, out;
  std::vector<uint64_t> in_rows, out_rows;  // [rows]
};

// Gets logits [count, outputs] of rows [first, first + count) and replaces them by the derivative
// of its loss.
using LossFunction = std::function<void(int64_t first, int64_t count, float* logits)>;

// Chunks of `chunk` rows, a multiple of kGradientRows or all rows. x [rows, hidden] becomes the
// derivative by x.
void train_head(const Head& head, const TrainedHead& trained, const HeadDropout* dropout,
                int64_t rows, int64_t hidden, int64_t chunk, const LossFunction& loss, float* x,
                ThreadPool& pool);

// The rows of a chunk for logits of this width: as many as fit into a fixed size.
int64_t head_chunk_rows(int64_t outputs);
// About the bytes that train_head() takes.
uint64_t head_backward_bytes(int64_t hidden, int64_t outputs, DType type, int64_t rows,
                             int threads);

}  // namespace longformer
