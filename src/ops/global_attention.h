// Global rows, re-associated. For a global query and head (Longformer spec: own projections, every
// valid key counts):
//   score_j = q · (Wk x_j + bk) = (Wkᵀ q) · x_j + constant            the constant cancels in the
//   softmax Σ p_j (Wv x_j + bv)         = Wv (Σ p_j x_j) + bv                 because Σ p_j = 1
// so keys and values of all tokens under the global projections never exist: 2·heads·g·n·hidden MAC
// instead of 2·n·hidden² + 2·g·n·hidden; the better choice while there are fewer global tokens than
// head_dim. Partial sums over fixed blocks of kGlobalBlock keys are merged in block order: the bits
// depend on the sequence alone.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/plan.h"
#include "ops/attention_block.h"

namespace longformer {

class ThreadPool;

// What the backward pass needs of a forward pass. Rows: those of a job, head by head, one job
// behind the other.
struct GlobalRecord {
  std::vector<float> logsumexp;  // [rows]
  std::vector<float> means;      // [rows, hidden]: Σ p_j x_j, dropout applied
  std::vector<float> kept;       // [rows]: Σ p_j, dropout applied; 1 without
};

// The scaled queries of `count` rows of x [*, hidden] in one head: [count, head_dim].
std::vector<float> global_queries(const AttentionWeights& weights, int64_t hidden, int64_t head_dim,
                                  int64_t head, const int64_t* rows, int64_t count, const float* x);

class GlobalAttention {
 public:
  static constexpr int64_t kJobQueries = 16;  // global queries that are computed together

  // Plans the work of one plan; buffers are kept from layer to layer.
  void resize(const AttentionPlan& plan, int64_t head_dim, int threads);
  // About the bytes that resize() and run() take.
  static uint64_t bytes_for(const AttentionPlan& plan, int64_t head_dim, int threads);
  bool empty() const noexcept { return jobs_.empty(); }

  // Computes what the global rows attend to: context() is [global rows of the batch, hidden] in the
  // order of plan.global_rows. x: [rows, hidden], the layer's input.
  // With dropout (null: none), probabilities are dropped; with a record, it is filled.
  void run(const AttentionPlan& plan, const AttentionWeights& weights, const float* x,
           ThreadPool& pool, const AttentionDropout* dropout = nullptr,
           GlobalRecord* record = nullptr);
  const float* context() const noexcept { return jobs_.empty() ? nullptr : context_.data(); }

 private:
  // Up to kJobQueries global queries of one sequence.
  struct Job {
    int32_t entry = 0;  // into plan.global_rows
    int64_t first = 0;  // first query, inside the entry
    int64_t count = 0;
    int64_t context_row = 0;  // of the first query
    int64_t absorbed = 0;     // first of its rows (head by head) in the buffer of its wave
    int64_t partial = 0;      // likewise (block by block) in the partial buffers
  };
  struct Unit {
    int32_t job = 0;
    int32_t block = 0;
  };
  // Jobs whose partial sums fit together into the memory limit.
  struct Wave {
    int32_t first_job = 0;
    int32_t job_count = 0;
    std::vector<Unit> units;
  };

  // Rows of the buffers.
  struct Sizes {
    int64_t context = 0;
    int64_t absorbed = 0;
    int64_t partial = 0;
    int64_t job = 0;  // the largest job's
  };

  Sizes lay_out(const AttentionPlan& plan, int64_t head_dim);
  void absorb_queries(const AttentionPlan& plan, const AttentionWeights& weights, const float* x,
                      const Job& job, int64_t head);
  void block_partial(const AttentionPlan& plan, const float* x, const Job& job, int32_t block,
                     int worker);
  void merge(const AttentionPlan& plan, const AttentionWeights& weights, const Job& job,
             int64_t head);
  void drop(const AttentionPlan& plan, const Job& job, const Interval& block, int64_t width,
            float* probabilities, float* kept) const;

  int64_t heads_ = 0;
  int64_t head_dim_ = 0;
  int64_t hidden_ = 0;
  std::vector<Job> jobs_;
  std::vector<Wave> waves_;
  std::vector<float> context_;  // [global rows, hidden]
  // Rows of a job: head · count + query.
  std::vector<float> absorbed_;  // [rows of a wave's jobs][hidden]: Wkᵀ q
  std::vector<float> sums_;      // [blocks · rows of each job][hidden]: Σ exp(score - max) x_j
  std::vector<float> maxima_;    // [blocks · rows of each job]
  std::vector<float> totals_;    // the same: Σ exp(score - max)
  std::vector<float> kept_;      // the same with dropout applied; only with dropout
  const AttentionDropout* dropout_ = nullptr;  // of the run
  GlobalRecord* record_ = nullptr;
  struct Scratch {
    std::vector<float> scores;  // [rows of a job][kGlobalBlock]
    std::vector<float>
        keys;  // [kGlobalBlock][hidden], only for blocks with masked rows or an odd length
    std::vector<float> corrections;
    std::vector<int32_t> begin, end;
  };
  std::vector<Scratch> scratch_;
};

}  // namespace longformer
