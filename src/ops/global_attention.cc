#include "ops/global_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attention/align.h"
#include "base/thread_pool.h"
#include "kernels/dropout.h"
#include "kernels/rowwise.h"

namespace longformer {
namespace {

constexpr int64_t kPartialBytes = 32 << 20;  // partial sums that may exist at once
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

void grow(std::vector<float>& buffer, int64_t size) {
  if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
}

// Copies rows [begin, end) of x with zeros for masked rows and for rows up to `padded`.
void copy_keys(const AttentionPlan& plan, const float* x, int64_t hidden, const Interval& block,
               int64_t padded, float* keys) {
  for (int64_t r = 0; r < padded; ++r) {
    const int64_t row = block.begin + r;
    float* to = keys + r * hidden;
    if (row < block.end && plan.valid_row[row] != 0) {
      std::memcpy(to, x + row * hidden, static_cast<size_t>(hidden) * sizeof(float));
    } else {
      std::fill_n(to, hidden, 0.0f);
    }
  }
}

}  // namespace

GlobalAttention::Sizes GlobalAttention::lay_out(const AttentionPlan& plan, int64_t head_dim) {
  heads_ = plan.pattern.heads;
  head_dim_ = head_dim;
  hidden_ = heads_ * head_dim;
  jobs_.clear();
  waves_.clear();
  Sizes sizes;
  // Rows of partial sums that may exist at once; a row is one head of one query in one block.
  const int64_t most_rows = kPartialBytes / (hidden_ * int64_t{sizeof(float)});
  int64_t partial_rows = 0;
  int64_t absorbed_rows = 0;
  for (size_t entry = 0; entry < plan.global_rows.size(); ++entry) {
    const GlobalRows& global = plan.global_rows[entry];
    const int64_t blocks = static_cast<int64_t>(global.blocks.size());
    const int64_t queries = static_cast<int64_t>(global.rows.size());
    for (int64_t first = 0; first < queries; first += kJobQueries) {
      const int64_t count = std::min(kJobQueries, queries - first);
      const int64_t rows = heads_ * count;
      if (waves_.empty() || partial_rows + blocks * rows > most_rows) {
        waves_.push_back({static_cast<int32_t>(jobs_.size()), 0, {}});
        partial_rows = absorbed_rows = 0;
      }
      Wave& wave = waves_.back();
      for (int64_t block = 0; block < blocks; ++block) {
        wave.units.push_back({static_cast<int32_t>(jobs_.size()), static_cast<int32_t>(block)});
      }
      jobs_.push_back(
          {static_cast<int32_t>(entry), first, count, sizes.context, absorbed_rows, partial_rows});
      ++wave.job_count;
      sizes.context += count;
      absorbed_rows += rows;
      partial_rows += blocks * rows;
      sizes.job = std::max(sizes.job, rows);
      sizes.partial = std::max(sizes.partial, partial_rows);
      sizes.absorbed = std::max(sizes.absorbed, absorbed_rows);
    }
  }
  return sizes;
}

uint64_t GlobalAttention::bytes_for(const AttentionPlan& plan, int64_t head_dim, int threads) {
  GlobalAttention global;
  const Sizes sizes = global.lay_out(plan, head_dim);
  if (global.empty()) return 0;
  const int64_t of_a_thread = (sizes.job + global.hidden_) * kGlobalBlock;  // scores and keys
  const int64_t floats =
      (sizes.context + sizes.absorbed + sizes.partial) * global.hidden_ + threads * of_a_thread;
  return static_cast<uint64_t>(floats) * sizeof(float);
}

void GlobalAttention::resize(const AttentionPlan& plan, int64_t head_dim, int threads) {
  const Sizes sizes = lay_out(plan, head_dim);
  if (jobs_.empty()) return;
  grow(context_, sizes.context * hidden_);
  grow(absorbed_, sizes.absorbed * hidden_);
  grow(sums_, sizes.partial * hidden_);
  grow(maxima_, sizes.partial);
  grow(totals_, sizes.partial);
  scratch_.resize(static_cast<size_t>(threads));
  for (Scratch& scratch : scratch_) {
    grow(scratch.scores, sizes.job * kGlobalBlock);
    grow(scratch.corrections, sizes.job);
    scratch.begin.assign(static_cast<size_t>(sizes.job), 0);
    scratch.end.assign(static_cast<size_t>(sizes.job), 0);
  }
}

std::vector<float> global_queries(const AttentionWeights& weights, int64_t hidden, int64_t head_dim,
                                  int64_t head, const int64_t* rows, int64_t count,
                                  const float* x) {
  std::vector<float> inputs(static_cast<size_t>(count * hidden));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(inputs.data() + i * hidden, x + rows[i] * hidden,
                static_cast<size_t>(hidden) * sizeof(float));
  }
  const int64_t head_rows = head * head_dim;  // of the projections
  std::vector<float> widened;
  std::vector<float> q(static_cast<size_t>(count * head_dim));
  kernels::matmul_nt(count, head_dim, hidden, inputs.data(),
                     weights.query_global.weight.read(head_rows, head_dim, widened), q.data());
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < head_dim; ++c) {
      float& value = q[i * head_dim + c];
      value = (value + weights.query_global.bias[head_rows + c]) * scale;
    }
  }
  return q;
}

void GlobalAttention::absorb_queries(const AttentionPlan& plan, const AttentionWeights& weights,
                                     const float* x, const Job& job, int64_t head) {
  const std::vector<float> q =
      global_queries(weights, hidden_, head_dim_, head,
                     plan.global_rows[job.entry].rows.data() + job.first, job.count, x);
  std::vector<float> widened;
  float* absorbed = absorbed_.data() + (job.absorbed + head * job.count) * hidden_;
  kernels::matmul_nn(job.count, hidden_, head_dim_, q.data(),
                     weights.key_global.weight.read(head * head_dim_, head_dim_, widened),
                     absorbed);
}

// Drops probabilities [rows of the job, width] of a block of keys and adds up what is kept.
void GlobalAttention::drop(const AttentionPlan& plan, const Job& job, const Interval& block,
                           int64_t width, float* probabilities, float* kept) const {
  const GlobalRows& global = plan.global_rows[job.entry];
  const int64_t begin = plan.sequence_begin[global.sequence];
  for (int64_t row = 0; row < heads_ * job.count; ++row) {
    const int64_t position = global.rows[job.first + row % job.count] - begin;
    const uint64_t key = dropout_->row_key(global.sequence, row / job.count, position);
    float* const values = probabilities + row * width;
    kernels::dropout_rows(1, width, dropout_->rule, &key,
                          static_cast<uint32_t>(block.begin - begin), 1, values, width);
    float sum = 0.0f;
    for (int64_t j = 0; j < width; ++j) sum += values[j];
    kept[row] = sum;
  }
}

void GlobalAttention::block_partial(const AttentionPlan& plan, const float* x, const Job& job,
                                    int32_t block_index, int worker) {
  Scratch& scratch = scratch_[worker];
  const Interval block = plan.global_rows[job.entry].blocks[block_index];
  const int64_t keys = block.end - block.begin;
  const int64_t padded = round_up(keys, kKeyAlign);
  const uint8_t* valid = plan.valid_row.data() + block.begin;
  const bool whole = padded == keys && std::find(valid, valid + keys, uint8_t{0}) == valid + keys;
  const float* key_rows = x + block.begin * hidden_;
  if (!whole) {
    grow(scratch.keys, kGlobalBlock * hidden_);
    copy_keys(plan, x, hidden_, block, padded, scratch.keys.data());
    key_rows = scratch.keys.data();
  }
  const int64_t rows = heads_ * job.count;
  const float* absorbed = absorbed_.data() + job.absorbed * hidden_;
  float* scores = scratch.scores.data();
  kernels::matmul_nt(rows, padded, hidden_, absorbed, key_rows, scores);
  if (!whole) {
    for (int64_t j = 0; j < keys; ++j) {
      if (valid[j] != 0) continue;
      for (int64_t r = 0; r < rows; ++r) scores[r * padded + j] = kMinusInfinity;
    }
  }
  const int64_t partial = job.partial + block_index * rows;
  float* maxima = maxima_.data() + partial;
  float* totals = totals_.data() + partial;
  std::fill_n(maxima, rows, kMinusInfinity);
  std::fill_n(totals, rows, 0.0f);
  std::fill_n(scratch.end.begin(), rows, static_cast<int32_t>(keys));
  kernels::softmax_strip(rows, padded, scratch.begin.data(), scratch.end.data(), scores, maxima,
                         totals, scratch.corrections.data());
  if (dropout_ != nullptr) drop(plan, job, block, padded, scores, kept_.data() + partial);
  kernels::matmul_nn(rows, hidden_, padded, scores, key_rows, sums_.data() + partial * hidden_);
}

void GlobalAttention::merge(const AttentionPlan& plan, const AttentionWeights& weights,
                            const Job& job, int64_t head) {
  const int64_t blocks = static_cast<int64_t>(plan.global_rows[job.entry].blocks.size());
  const int64_t stride = heads_ * job.count;
  std::vector<float> mean(static_cast<size_t>(job.count * hidden_), 0.0f);
  std::vector<float> kept(static_cast<size_t>(job.count), 1.0f);  // Σ p
  for (int64_t i = 0; i < job.count; ++i) {
    const int64_t row = head * job.count + i;
    float most = kMinusInfinity;
    for (int64_t b = 0; b < blocks; ++b)
      most = std::max(most, maxima_[job.partial + b * stride + row]);
    float total = 0.0f;
    float kept_total = 0.0f;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = job.partial + b * stride + row;
      if (totals_[at] == 0.0f) continue;  // a block of masked keys only
      const float weight = std::exp(maxima_[at] - most);
      total += weight * totals_[at];
      if (dropout_ != nullptr) kept_total += weight * kept_[at];
      kernels::add_scaled(hidden_, weight, sums_.data() + at * hidden_, mean.data() + i * hidden_);
    }
    for (int64_t c = 0; c < hidden_; ++c) mean[i * hidden_ + c] /= total;
    if (dropout_ != nullptr) kept[i] = kept_total / total;
    if (record_ == nullptr) continue;
    const int64_t kept_row = heads_ * job.context_row + row;
    record_->logsumexp[kept_row] = most + std::log(total);
    record_->kept[kept_row] = kept[i];
    std::copy_n(mean.data() + i * hidden_, hidden_, record_->means.data() + kept_row * hidden_);
  }
  const int64_t head_rows = head * head_dim_;
  std::vector<float> widened;
  std::vector<float> out(static_cast<size_t>(job.count * head_dim_));
  kernels::matmul_nt(job.count, head_dim_, hidden_, mean.data(),
                     weights.value_global.weight.read(head_rows, head_dim_, widened), out.data());
  for (int64_t i = 0; i < job.count; ++i) {
    float* to = context_.data() + (job.context_row + i) * hidden_ + head_rows;
    for (int64_t c = 0; c < head_dim_; ++c)
      to[c] = out[i * head_dim_ + c] + kept[i] * weights.value_global.bias[head_rows + c];
  }
}

void GlobalAttention::run(const AttentionPlan& plan, const AttentionWeights& weights,
                          const float* x, ThreadPool& pool, const AttentionDropout* dropout,
                          GlobalRecord* record) {
  dropout_ = dropout;
  record_ = record;
  if (dropout != nullptr) grow(kept_, static_cast<int64_t>(totals_.size()));
  if (record != nullptr && !jobs_.empty()) {
    const auto rows = static_cast<size_t>(heads_ * (jobs_.back().context_row + jobs_.back().count));
    record->logsumexp.resize(rows);
    record->kept.resize(rows);
    record->means.resize(rows * static_cast<size_t>(hidden_));
  }
  for (const Wave& wave : waves_) {
    const int64_t heads_of_jobs = wave.job_count * heads_;
    pool.run(heads_of_jobs, [&](int64_t task, int) {
      absorb_queries(plan, weights, x, jobs_[wave.first_job + task / heads_], task % heads_);
    });
    pool.run(static_cast<int64_t>(wave.units.size()), [&](int64_t task, int worker) {
      const Unit& unit = wave.units[task];
      block_partial(plan, x, jobs_[unit.job], unit.block, worker);
    });
    pool.run(heads_of_jobs, [&](int64_t task, int) {
      merge(plan, weights, jobs_[wave.first_job + task / heads_], task % heads_);
    });
  }
}

}  // namespace longformer
