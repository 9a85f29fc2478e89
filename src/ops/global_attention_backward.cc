#include "ops/global_attention_backward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attention/align.h"
#include "base/thread_pool.h"
#include "kernels/dropout.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"

namespace longformer {
namespace {

void grow(std::vector<float>& buffer, int64_t size) {
  if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

void GlobalAttentionBackward::run(const AttentionPlan& plan, const AttentionWeights& weights,
                                  const GlobalProjectionGradients& gradients,
                                  const GlobalRecord& record, const float* x,
                                  const float* d_context, float* d_x,
                                  const AttentionDropout* dropout, ThreadPool& pool) {
  if (plan.global_rows.empty()) return;
  heads_ = plan.pattern.heads;
  hidden_ = weights.query_global.weight.cols();
  head_dim_ = hidden_ / heads_;
  scratch_.resize(static_cast<size_t>(pool.threads()));
  const Inputs in{plan, weights, record, x, d_context, d_x, dropout};
  int64_t row = 0;
  for (const GlobalRows& global : plan.global_rows) {
    const auto queries = static_cast<int64_t>(global.rows.size());
    const auto blocks = static_cast<int64_t>(global.blocks.size());
    for (int64_t first = 0; first < queries; first += GlobalAttention::kJobQueries) {
      const int64_t count = std::min(GlobalAttention::kJobQueries, queries - first);
      const Job job{&global, first, count, row};
      const int64_t rows = heads_ * count;
      row += rows;
      grow(queries_, rows * head_dim_);
      grow(absorbed_, rows * hidden_);
      grow(d_means_, rows * hidden_);
      grow(d_kept_, rows);
      grow(deltas_, rows);
      grow(d_absorbed_, blocks * rows * hidden_);
      grow(d_queries_, count * hidden_);
      pool.run(heads_, [&](int64_t head, int) { absorb(in, job, head); });
      pool.run(blocks, [&](int64_t b, int worker) {
        block(in, job, global.blocks[static_cast<size_t>(b)],
              d_absorbed_.data() + b * rows * hidden_, scratch_[static_cast<size_t>(worker)]);
      });
      pool.run(heads_,
               [&](int64_t head, int) { head_gradients(in, gradients, job, blocks, head); });
      pool.run(1, [&](int64_t, int) { input_gradients(in, job); });
    }
  }
}

// u, d_m, d_s and delta of one head.
void GlobalAttentionBackward::absorb(const Inputs& in, const Job& job, int64_t head) {
  const int64_t first = head * job.count;
  const int64_t head_rows = head * head_dim_;
  const int64_t* const rows = job.global->rows.data() + job.first;
  const std::vector<float> q =
      global_queries(in.weights, hidden_, head_dim_, head, rows, job.count, in.x);
  std::copy(q.begin(), q.end(), queries_.begin() + first * head_dim_);
  std::vector<float> widened;
  kernels::matmul_nn(job.count, hidden_, head_dim_, q.data(),
                     in.weights.key_global.weight.read(head_rows, head_dim_, widened),
                     absorbed_.data() + first * hidden_);
  std::vector<float> d_out(static_cast<size_t>(job.count * head_dim_));
  for (int64_t i = 0; i < job.count; ++i) {
    std::copy_n(in.d_context + rows[i] * hidden_ + head_rows, head_dim_,
                d_out.data() + i * head_dim_);
  }
  float* const d_means = d_means_.data() + first * hidden_;
  kernels::matmul_nn(job.count, hidden_, head_dim_, d_out.data(),
                     in.weights.value_global.weight.read(head_rows, head_dim_, widened), d_means);
  const float* const bias = in.weights.value_global.bias.data() + head_rows;
  for (int64_t i = 0; i < job.count; ++i) {
    const int64_t row = first + i;
    const float* const mean = in.record.means.data() + (job.row + row) * hidden_;
    // Without dropout Σ p_j is 1 whatever the scores are: d_s would cancel.
    d_kept_[row] =
        in.dropout == nullptr ? 0.0f : kernels::dot(head_dim_, d_out.data() + i * head_dim_, bias);
    deltas_[row] = kernels::dot(hidden_, d_means + i * hidden_, mean) +
                   d_kept_[row] * in.record.kept[job.row + row];
  }
}

void GlobalAttentionBackward::drop(const Inputs& in, const Job& job, const Interval& block,
                                   int64_t width, float* values) const {
  if (in.dropout == nullptr) return;
  const int64_t begin = in.plan.sequence_begin[job.global->sequence];
  for (int64_t row = 0; row < heads_ * job.count; ++row) {
    const int64_t position = job.global->rows[job.first + row % job.count] - begin;
    const uint64_t key = in.dropout->row_key(job.global->sequence, row / job.count, position);
    kernels::dropout_rows(1, width, in.dropout->rule, &key,
                          static_cast<uint32_t>(block.begin - begin), 1, values + row * width,
                          width);
  }
}

// The keys of one block: their d_x, and their share of d_u.
void GlobalAttentionBackward::block(const Inputs& in, const Job& job, const Interval& block,
                                    float* d_absorbed, Scratch& scratch) const {
  const int64_t rows = heads_ * job.count;
  const int64_t keys = block.end - block.begin;
  const int64_t width = round_up(keys, kKeyAlign);
  const uint8_t* const valid = in.plan.valid_row.data() + block.begin;
  grow(scratch.keys, width * hidden_);
  grow(scratch.d_keys, width * hidden_);
  grow(scratch.scores, rows * width);
  grow(scratch.d_scores, rows * width);
  scratch.begin.assign(static_cast<size_t>(rows), 0);
  scratch.end.assign(static_cast<size_t>(rows), static_cast<int32_t>(keys));
  float* const key_rows = scratch.keys.data();
  for (int64_t j = 0; j < width; ++j) {
    if (j < keys && valid[j] != 0) {
      std::copy_n(in.x + (block.begin + j) * hidden_, hidden_, key_rows + j * hidden_);
    } else {
      std::fill_n(key_rows + j * hidden_, hidden_, 0.0f);
    }
  }
  float* const p = scratch.scores.data();
  float* const d_p = scratch.d_scores.data();
  kernels::matmul_nt(rows, width, hidden_, absorbed_.data(), key_rows, p);
  kernels::matmul_nt(rows, width, hidden_, d_means_.data(), key_rows, d_p);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < keys; ++j) {
      if (valid[j] == 0) p[r * width + j] = -std::numeric_limits<float>::infinity();
      d_p[r * width + j] += d_kept_[r];
    }
  }
  drop(in, job, block, width, d_p);
  kernels::softmax_strip_backward(rows, width, scratch.begin.data(), scratch.end.data(),
                                  in.record.logsumexp.data() + job.row, deltas_.data(), p, d_p);
  kernels::matmul_nn(rows, hidden_, width, d_p, key_rows, d_absorbed);
  drop(in, job, block, width, p);
  float* const d_keys = scratch.d_keys.data();
  kernels::matmul_tn(width, hidden_, rows, d_p, absorbed_.data(), d_keys);
  kernels::matmul_tn(width, hidden_, rows, p, d_means_.data(), d_keys, kernels::Accumulate::kYes);
  for (int64_t j = 0; j < keys; ++j) {
    if (valid[j] == 0) continue;
    kernels::add(hidden_, d_keys + j * hidden_, in.d_x + (block.begin + j) * hidden_);
  }
}

// Rows of one head in the three projections, and dq of its queries.
void GlobalAttentionBackward::head_gradients(const Inputs& in,
                                             const GlobalProjectionGradients& gradients,
                                             const Job& job, int64_t blocks, int64_t head) {
  const int64_t rows = heads_ * job.count;
  const int64_t head_rows = head * head_dim_;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
  std::vector<float> widened;
  const float* const key_weight = in.weights.key_global.weight.read(head_rows, head_dim_, widened);
  for (int64_t i = 0; i < job.count; ++i) {
    const int64_t row = head * job.count + i;
    float* const d_u = d_absorbed_.data() + row * hidden_;
    for (int64_t b = 1; b < blocks; ++b) kernels::add(hidden_, d_u + b * rows * hidden_, d_u);
    const int64_t token = job.global->rows[job.first + i];
    const float* const d_out = in.d_context + token * hidden_ + head_rows;
    const float* const mean = in.record.means.data() + (job.row + row) * hidden_;
    for (int64_t c = 0; c < head_dim_; ++c) {
      const float d_q = kernels::dot(hidden_, key_weight + c * hidden_, d_u) * scale;
      d_queries_[i * hidden_ + head_rows + c] = d_q;
      const int64_t out = head_rows + c;
      const auto add = [&](const LinearGradient& gradient, float factor, const float* with) {
        if (gradient.weight == nullptr) return;
        kernels::add_scaled(hidden_, factor, with, gradient.weight + out * hidden_);
      };
      add(gradients.value, d_out[c], mean);
      add(gradients.key, queries_[row * head_dim_ + c], d_u);
      add(gradients.query, d_q, in.x + token * hidden_);
      if (gradients.value.bias != nullptr) {
        gradients.value.bias[out] += d_out[c] * in.record.kept[job.row + row];
      }
      if (gradients.query.bias != nullptr) gradients.query.bias[out] += d_q;
    }
  }
}

// Through the projection of the queries to their tokens.
void GlobalAttentionBackward::input_gradients(const Inputs& in, const Job& job) const {
  std::vector<float> widened;
  std::vector<float> d_x(static_cast<size_t>(job.count * hidden_));
  kernels::matmul_nn(job.count, hidden_, hidden_, d_queries_.data(),
                     in.weights.query_global.weight.read(0, hidden_, widened), d_x.data());
  for (int64_t i = 0; i < job.count; ++i) {
    const int64_t token = job.global->rows[job.first + i];
    kernels::add(hidden_, d_x.data() + i * hidden_, in.d_x + token * hidden_);
  }
}

}  // namespace longformer
