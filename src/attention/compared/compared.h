// What `ours` is measured against: other ways to compute windowed attention, as the Longformer
// paper (2020, section 3.2 and figure 1) and its reference implementation have them. One sequence,
// no global tokens, f32:
//   q, k, v, out   [tokens][heads][head_dim], q already scaled, as attention_forward() takes them
//   query i counts the keys i + s * dilation, s = -reach … reach, that lie in the sequence
// Products of matrices go through kernels/gemm.h, rows through kernels/rowwise.h, work through the
// pool.
#pragma once

#include <cstdint>

namespace longformer {

class ThreadPool;

namespace compared {

struct Shape {
  int64_t tokens = 0;
  int64_t heads = 1;
  int64_t head_dim = 64;
  int64_t reach = 0;  // to each side: half of the attention window
  int64_t dilation = 1;
};

// One query at a time: a dot product a key, a softmax, a weighted sum. Any dilation; a row of
// scores a thread is all the memory it needs.
void loop_attention(const Shape& shape, const float* q, const float* k, const float* v, float* out,
                    ThreadPool& pool);

// Overlapping chunks, as the reference has them: the text is padded to a multiple of 2 * reach and
// cut into chunks of 2 * reach tokens that overlap by half. Queries times keys of each chunk are
// stored for all heads (twice the scores that are needed), copied into bands of 2 * reach + 1
// scores a query, their corners outside the text masked, then turned into rows of 3 * reach
// probabilities for the product with the values (half as many again as needed). Dilation 1, reach
// at least 1.
void chunks_attention(const Shape& shape, const float* q, const float* k, const float* v,
                      float* out, ThreadPool& pool);

// Full attention as eager frameworks have it: all tokens * tokens scores of all heads are stored,
// then the softmax goes over them in place, then they are multiplied with the values. `reach` and
// `dilation` are not looked at.
void full_attention(const Shape& shape, const float* q, const float* k, const float* v, float* out,
                    ThreadPool& pool);

// Bytes that each allocates at its highest, inputs and outputs not counted. 2^64 - 1 where that
// does not fit into 64 bits.
uint64_t loop_bytes(const Shape& shape, int threads);
uint64_t chunks_bytes(const Shape& shape);
uint64_t full_bytes(const Shape& shape);

// All three throw kInvalidArgument for shapes that they cannot compute: no heads, a head_dim
// outside 1..kMaxHeadDim, a negative length or reach, a dilation below 1, and what is named above.

}  // namespace compared
}  // namespace longformer
