// The way back through GlobalAttention, re-associated like it. For a global query i and head, with
// u = Wkᵀ q, p = softmax_j(u · x_j), p~ = p after dropout, m = Σ p~_j x_j, s = Σ p~_j and
// out = Wv m + s bv:
//   dWv += d_out mᵀ      dbv += s d_out      d_m = Wvᵀ d_out      d_s = d_out · bv
//   dp_j = dropout(d_m · x_j + d_s)          dS_j = p_j (dp_j - Σ p_j dp_j)
//   d_x_j += dS_j u + p~_j d_m               d_u = Σ dS_j x_j
//   dWk += q d_uᵀ        dq = Wk d_u         and back through the projection of the query
// The bias of the keys cancels in the softmax: its derivative is zero. A block of kGlobalBlock keys
// belongs to one task, which visits the queries in their order; d_u of blocks is added in block
// order. Cost: 10 · heads · global tokens · n · hidden FLOP.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/global_attention.h"
#include "ops/weight_gradient.h"

namespace longformer {

class ThreadPool;

struct GlobalProjectionGradients {
  LinearGradient query, key, value;
};

class GlobalAttentionBackward {
 public:
  // d_context: [rows, hidden], of which the global rows are read. d_x [rows, hidden] is added to.
  void run(const AttentionPlan& plan, const AttentionWeights& weights,
           const GlobalProjectionGradients& gradients, const GlobalRecord& record, const float* x,
           const float* d_context, float* d_x, const AttentionDropout* dropout, ThreadPool& pool);

 private:
  // Up to kJobQueries queries of one sequence; as GlobalAttention cuts them.
  struct Job {
    const GlobalRows* global = nullptr;
    int64_t first = 0;
    int64_t count = 0;
    int64_t row = 0;  // of its first (head, query) in the record
  };
  struct Inputs {
    const AttentionPlan& plan;
    const AttentionWeights& weights;
    const GlobalRecord& record;
    const float* x;
    const float* d_context;
    float* d_x;
    const AttentionDropout* dropout;
  };
  struct Scratch {
    std::vector<float> keys, scores, d_scores, d_keys;
    std::vector<int32_t> begin, end;
  };

  void absorb(const Inputs& in, const Job& job, int64_t head);
  void block(const Inputs& in, const Job& job, const Interval& block, float* d_absorbed,
             Scratch& scratch) const;
  void drop(const Inputs& in, const Job& job, const Interval& block, int64_t width,
            float* values) const;
  void head_gradients(const Inputs& in, const GlobalProjectionGradients& gradients, const Job& job,
                      int64_t blocks, int64_t head);
  void input_gradients(const Inputs& in, const Job& job) const;

  int64_t heads_ = 0;
  int64_t head_dim_ = 0;
  int64_t hidden_ = 0;
  // Of one job: rows are (head, query).
  std::vector<float> queries_;     // [rows, head_dim], scaled
  std::vector<float> absorbed_;    // [rows, hidden]: u
  std::vector<float> d_means_;     // [rows, hidden]: d_m
  std::vector<float> d_kept_;      // [rows]: d_s
  std::vector<float> deltas_;      // [rows]: Σ p_j dp_j
  std::vector<float> d_absorbed_;  // [blocks][rows, hidden]
  std::vector<float> d_queries_;   // [queries, hidden]: by the projection in front of its scaling
  std::vector<Scratch> scratch_;   // one a thread
};

}  // namespace longformer
