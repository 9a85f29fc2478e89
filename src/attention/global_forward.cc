#include "attention/global_forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "attention/align.h"
#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise.h"
#include "tensor/arena.h"

namespace longformer {
namespace {

constexpr size_t kPartialBytes = size_t{32}
                                 << 20;  // of one wave of jobs, unless one job alone needs more
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Up to kQueryRows global queries of one sequence, all heads.
struct Job {
  const GlobalRows* global = nullptr;
  int64_t first = 0;  // into global->rows
  int64_t count = 0;
  int64_t partials = 0;  // index of its first partial in the wave

  int64_t blocks() const { return static_cast<int64_t>(global->blocks.size()); }
};

// One block of one head of one job.
struct Unit {
  int32_t job = 0;
  int32_t head = 0;
  int32_t block = 0;
};

// Working memory of one thread.
struct Scratch {
  float* queries = nullptr;  // [kQueryRows][head_dim]
  float* keys = nullptr;     // [kGlobalBlock][head_dim]
  float* values = nullptr;   // [kGlobalBlock][head_dim]
  float* scores = nullptr;   // [kQueryRows][kGlobalBlock]
};

class GlobalForward {
 public:
  GlobalForward(const AttentionPlan& plan, int64_t head_dim, const GlobalInputs& inputs, float* out,
                float* lse, ThreadPool& pool)
      : plan_(plan),
        head_dim_(head_dim),
        heads_(plan.pattern.heads),
        inputs_(inputs),
        out_(out),
        lse_(lse),
        pool_(pool),
        partial_floats_(kQueryRows * (head_dim + 2)) {
    const int64_t sizes[] = {kQueryRows * head_dim, kGlobalBlock * head_dim,
                             kGlobalBlock * head_dim, kQueryRows * kGlobalBlock};
    size_t bytes = 0;
    for (const int64_t size : sizes) bytes += Arena::bytes_for(size);
    arena_.reset(bytes * static_cast<size_t>(pool.threads()));
    for (int t = 0; t < pool.threads(); ++t) {
      Scratch scratch;
      scratch.queries = arena_.floats(sizes[0]);
      scratch.keys = arena_.floats(sizes[1]);
      scratch.values = arena_.floats(sizes[2]);
      scratch.scores = arena_.floats(sizes[3]);
      scratch_.push_back(scratch);
    }
  }

  void run() {
    for (const GlobalRows& global : plan_.global_rows) {
      const int64_t rows = static_cast<int64_t>(global.rows.size());
      for (int64_t first = 0; first < rows; first += kQueryRows) {
        Job job{&global, first, std::min(kQueryRows, rows - first), 0};
        const auto bytes = static_cast<size_t>((units_.size() + job.blocks() * heads_) *
                                               partial_floats_ * sizeof(float));
        if (!jobs_.empty() && bytes > kPartialBytes) run_wave();
        add(job);
      }
    }
    if (!jobs_.empty()) run_wave();
  }

 private:
  void add(Job job) {
    job.partials = static_cast<int64_t>(units_.size());
    for (int64_t head = 0; head < heads_; ++head) {
      for (int64_t block = 0; block < job.blocks(); ++block) {
        units_.push_back({static_cast<int32_t>(jobs_.size()), static_cast<int32_t>(head),
                          static_cast<int32_t>(block)});
      }
    }
    jobs_.push_back(job);
  }

  void run_wave() {
    partials_.resize(units_.size() * static_cast<size_t>(partial_floats_));
    pool_.run(static_cast<int64_t>(units_.size()), [this](int64_t unit, int worker) {
      block_partial(units_[static_cast<size_t>(unit)], partial(unit),
                    scratch_[static_cast<size_t>(worker)]);
    });
    pool_.run(static_cast<int64_t>(jobs_.size()) * heads_, [this](int64_t task, int) {
      merge(jobs_[static_cast<size_t>(task / heads_)], task % heads_);
    });
    jobs_.clear();
    units_.clear();
  }

  // A partial: max [kQueryRows], sum [kQueryRows], out [kQueryRows][head_dim].
  float* partial(int64_t unit) { return partials_.data() + unit * partial_floats_; }

  const float* at(const float* tensor, int64_t row, int64_t head) const {
    return tensor + (row * heads_ + head) * head_dim_;
  }

  void copy_head(const float* from, float* to) const {
    std::memcpy(to, from, static_cast<size_t>(head_dim_) * sizeof(float));
  }

  void block_partial(const Unit& unit, float* result, const Scratch& scratch) const {
    const Job& job = jobs_[static_cast<size_t>(unit.job)];
    const Interval block = job.global->blocks[static_cast<size_t>(unit.block)];
    const int64_t rows = round_up(job.count, kRowAlign);
    const int64_t width = round_up(block.end - block.begin, kKeyAlign);
    for (int64_t r = 0; r < job.count; ++r) {
      const int64_t row = job.global->rows[static_cast<size_t>(job.first + r)];
      copy_head(at(inputs_.q, row, unit.head), scratch.queries + r * head_dim_);
    }
    std::fill_n(scratch.queries + job.count * head_dim_, (rows - job.count) * head_dim_, 0.0f);
    gather_keys(block, width, unit.head, scratch);
    kernels::matmul_nt(rows, width, head_dim_, scratch.queries, scratch.keys, scratch.scores);
    mask(block, width, rows, scratch.scores);

    float* max = result;
    float* sum = max + kQueryRows;
    float* out = sum + kQueryRows;
    int32_t begin[kQueryRows] = {};
    int32_t end[kQueryRows] = {};
    float correction[kQueryRows];
    std::fill_n(end, job.count, static_cast<int32_t>(block.end - block.begin));
    std::fill_n(max, rows, kNothing);
    std::fill_n(sum, rows, 0.0f);
    kernels::softmax_strip(rows, width, begin, end, scratch.scores, max, sum, correction);
    kernels::matmul_nn(rows, head_dim_, width, scratch.scores, scratch.values, out);
  }

  // Keys that are not valid stay zero: what a masked row holds is never read.
  void gather_keys(const Interval& block, int64_t width, int64_t head,
                   const Scratch& scratch) const {
    std::fill_n(scratch.keys, width * head_dim_, 0.0f);
    std::fill_n(scratch.values, width * head_dim_, 0.0f);
    for (int64_t row = block.begin; row < block.end; ++row) {
      if (plan_.valid_row[static_cast<size_t>(row)] == 0) continue;
      const int64_t to = (row - block.begin) * head_dim_;
      copy_head(at(inputs_.k, row, head), scratch.keys + to);
      copy_head(at(inputs_.v, row, head), scratch.values + to);
    }
  }

  void mask(const Interval& block, int64_t width, int64_t rows, float* scores) const {
    for (int64_t c = 0; c < block.end - block.begin; ++c) {
      if (plan_.valid_row[static_cast<size_t>(block.begin + c)] != 0) continue;
      for (int64_t r = 0; r < rows; ++r) scores[r * width + c] = kNothing;
    }
  }

  void merge(const Job& job, int64_t head) {
    const int64_t first = job.partials + head * job.blocks();
    for (int64_t r = 0; r < job.count; ++r) {
      const int64_t row = job.global->rows[static_cast<size_t>(job.first + r)];
      float* out = out_ + (row * heads_ + head) * head_dim_;
      float max = kNothing;
      for (int64_t b = 0; b < job.blocks(); ++b) max = std::max(max, partial(first + b)[r]);
      float sum = 0;
      std::fill_n(out, head_dim_, 0.0f);
      for (int64_t b = 0; b < job.blocks(); ++b) {
        const float* part = partial(first + b);
        const float part_sum = part[kQueryRows + r];
        if (part_sum == 0.0f) continue;
        const float factor = std::exp(part[r] - max);
        sum += factor * part_sum;
        kernels::add_scaled(head_dim_, factor, part + 2 * kQueryRows + r * head_dim_, out);
      }
      kernels::normalize_rows(1, head_dim_, out, &sum, head_dim_, out);
      if (lse_ != nullptr) lse_[row * heads_ + head] = max + std::log(sum);
    }
  }

  const AttentionPlan& plan_;
  const int64_t head_dim_;
  const int64_t heads_;
  const GlobalInputs inputs_;
  float* out_;
  float* lse_;
  ThreadPool& pool_;
  const int64_t partial_floats_;
  Arena arena_;
  std::vector<Scratch> scratch_;  // per worker
  std::vector<Job> jobs_;         // of the wave
  std::vector<Unit> units_;       // of the wave: by job, head, block
  std::vector<float> partials_;   // [units][partial_floats]
};

}  // namespace

void global_rows_forward(const AttentionPlan& plan, int64_t head_dim, const GlobalInputs& inputs,
                         float* out, float* lse, ThreadPool& pool) {
  if (plan.global_rows.empty()) return;
  GlobalForward(plan, head_dim, inputs, out, lse, pool).run();
}

}  // namespace longformer
