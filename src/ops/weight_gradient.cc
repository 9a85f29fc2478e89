#include "ops/weight_gradient.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise_backward.h"

namespace longformer {
namespace {

constexpr int64_t kSliceColumns = 128;

const std::byte* row_of(const kernels::Rows& rows, int64_t row, int64_t cols) {
  return static_cast<const std::byte*>(rows.data) +
         row * cols * static_cast<int64_t>(dtype_size(rows.type));
}

// Columns [first, first + count) of rows [row, row + rows), dense.
void copy_columns(const kernels::Rows& from, int64_t cols, int64_t row, int64_t rows, int64_t first,
                  int64_t count, std::byte* to) {
  const auto size = static_cast<int64_t>(dtype_size(from.type));
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * count * size, row_of(from, row + r, cols) + first * size,
                static_cast<size_t>(count * size));
  }
}

// c[m, n] += aᵀ b
void add_product(DType type, int64_t m, int64_t n, int64_t k, const std::byte* a,
                 const std::byte* b, float* c) {
  if (type == DType::kBF16) {
    kernels::matmul_tn(m, n, k, reinterpret_cast<const BFloat16*>(a),
                       reinterpret_cast<const BFloat16*>(b), c, kernels::Accumulate::kYes);
  } else {
    kernels::matmul_tn(m, n, k, reinterpret_cast<const float*>(a),
                       reinterpret_cast<const float*>(b), c, kernels::Accumulate::kYes);
  }
}

// A block of one job: `count` features from `first` on, of d_y or (by_input) of x.
struct Slice {
  const WeightGradientJob* job = nullptr;
  bool by_input = false;
  int64_t first = 0;
  int64_t count = 0;
};

struct Scratch {
  Arena arena;
  std::byte* slice = nullptr;  // [kGradientRows, kSliceColumns]
  float* block = nullptr;      // [kSliceColumns, out]
};

class Slices {
 public:
  Slices(const std::vector<WeightGradientJob>& jobs, int64_t rows) : rows_(rows) {
    for (const WeightGradientJob& job : jobs) add(job);
  }

  void run(ThreadPool& pool) const {
    std::vector<Scratch> scratch(static_cast<size_t>(pool.threads()));
    for (Scratch& one : scratch) {
      const int64_t slice = kGradientRows * kSliceColumns;
      one.arena.reset(Arena::bytes_for(slice) + Arena::bytes_for(kSliceColumns * widest_));
      one.slice = reinterpret_cast<std::byte*>(one.arena.floats(slice));
      one.block = one.arena.floats(kSliceColumns * widest_);
    }
    pool.run(static_cast<int64_t>(slices_.size()), [&](int64_t i, int worker) {
      compute(slices_[static_cast<size_t>(i)], scratch[static_cast<size_t>(worker)]);
    });
  }

 private:
  void add(const WeightGradientJob& job) {
    if (job.gradient.weight == nullptr && job.gradient.bias == nullptr) return;
    const bool by_input = job.in_features > job.out_features;
    if (by_input) {
      if (job.gradient.weight != nullptr) cut(job, true, job.in_features);
      if (job.gradient.bias != nullptr) cut(job, false, job.out_features);
      widest_ = std::max(widest_, job.out_features);
    } else {
      cut(job, false, job.out_features);
    }
  }

  void cut(const WeightGradientJob& job, bool by_input, int64_t features) {
    for (int64_t first = 0; first < features; first += kSliceColumns) {
      slices_.push_back({&job, by_input, first, std::min(kSliceColumns, features - first)});
    }
  }

  void compute(const Slice& slice, Scratch& scratch) const {
    const WeightGradientJob& job = *slice.job;
    const bool bias_only = !slice.by_input && job.in_features > job.out_features;
    if (slice.by_input) {
      std::fill_n(scratch.block, slice.count * job.out_features, 0.0f);
    }
    for (int64_t row = 0; row < rows_; row += kGradientRows) {
      const int64_t count = std::min(kGradientRows, rows_ - row);
      if (slice.by_input) {
        copy_columns(job.x, job.in_features, row, count, slice.first, slice.count, scratch.slice);
        add_product(job.x.type, slice.count, job.out_features, count, scratch.slice,
                    row_of(job.d_y, row, job.out_features), scratch.block);
        continue;
      }
      copy_columns(job.d_y, job.out_features, row, count, slice.first, slice.count, scratch.slice);
      if (job.gradient.bias != nullptr) {
        kernels::add_column_sums(count, slice.count,
                                 {job.d_y.type, scratch.slice, nullptr, nullptr},
                                 job.gradient.bias + slice.first);
      }
      if (bias_only || job.gradient.weight == nullptr) continue;
      add_product(job.x.type, slice.count, job.in_features, count, scratch.slice,
                  row_of(job.x, row, job.in_features),
                  job.gradient.weight + slice.first * job.in_features);
    }
    if (slice.by_input) add_transposed(slice, scratch.block);
  }

  // weight[o, first + c] += block[c, o]
  static void add_transposed(const Slice& slice, const float* block) {
    const WeightGradientJob& job = *slice.job;
    for (int64_t o = 0; o < job.out_features; ++o) {
      float* to = job.gradient.weight + o * job.in_features + slice.first;
      for (int64_t c = 0; c < slice.count; ++c) to[c] += block[c * job.out_features + o];
    }
  }

  const int64_t rows_;
  int64_t widest_ = 1;  // of the operands that stay whole in jobs cut by input
  std::vector<Slice> slices_;
};

}  // namespace

void add_weight_gradients(const std::vector<WeightGradientJob>& jobs, int64_t rows,
                          ThreadPool& pool) {
  Slices(jobs, rows).run(pool);
}

uint64_t weight_gradient_bytes(int64_t features, int threads) {
  const int64_t floats = kSliceColumns * (kGradientRows + features);
  return static_cast<uint64_t>(floats) * sizeof(float) * static_cast<uint64_t>(threads);
}

}  // namespace longformer
