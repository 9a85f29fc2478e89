#include "nn/head_backward.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/rowwise_backward.h"
#include "ops/row_tiles.h"

namespace longformer {
namespace {

constexpr int64_t kRows = 64;                      // of a task
constexpr int64_t kColumns = 4096;                 // of the logits of a task
constexpr int64_t kLogits = int64_t{512} * 65536;  // values of a chunk

// Rows in the type that a matrix reads them in; a copy where that is not f32.
class Converted {
 public:
  Converted(int64_t rows, int64_t cols, DType type, const float* x, ThreadPool& pool)
      : type_(type), cols_(cols), x_(x) {
    if (type == DType::kF32) return;
    data_.resize(static_cast<size_t>(rows * cols));
    pool.run((rows + kRows - 1) / kRows, [&](int64_t task, int) {
      const int64_t first = task * kRows;
      kernels::to_rows(std::min(kRows, rows - first), cols, x + first * cols,
                       {type, data_.data() + first * cols, cols, nullptr, nullptr});
    });
  }
  kernels::Rows rows(int64_t first) const {
    if (type_ == DType::kF32) return {type_, x_ + first * cols_, nullptr, nullptr};
    return {type_, data_.data() + first * cols_, nullptr, nullptr};
  }

 private:
  DType type_;
  int64_t cols_;
  const float* x_;
  std::vector<BFloat16> data_;
};

class HeadTraining {
 public:
  HeadTraining(const Head& head, const TrainedHead& trained, const HeadDropout* dropout,
               int64_t hidden, ThreadPool& pool)
      : head_(head),
        trained_(trained),
        dropout_(dropout),
        hidden_(hidden),
        outputs_(head.output.weight.out_features()),
        type_(head.output.weight.type()),
        pool_(pool) {
    pool.run(has_dense() ? 2 : 1, [&](int64_t i, int) {
      const TrainedLinear& linear = i == 0 ? trained.output : trained.dense;
      kernels::PackedMatrix& packed = i == 0 ? output_ : dense_;
      packed = kernels::PackedMatrix::pack_transposed(
          linear.weight, linear.out_features, linear.in_features, i == 0 ? type_ : DType::kF32);
    });
  }

  void run(int64_t first, int64_t rows, const LossFunction& loss, float* x) {
    first_ = first;
    rows_ = rows;
    const size_t elements = static_cast<size_t>(rows * hidden_);
    if (dropout_ != nullptr && dropout_->in.drops()) drop(dropout_->in, dropout_->in_rows, x);
    n_.assign(x, x + elements);
    if (has_dense()) transform(x);
    if (dropout_ != nullptr && dropout_->out.drops()) {
      drop(dropout_->out, dropout_->out_rows, n_.data());
    }
    const Converted n(rows, hidden_, type_, n_.data(), pool_);
    logits_.resize(static_cast<size_t>(rows * outputs_));
    project(n);
    loss(first, rows, logits_.data());
    backward(n, x);
  }

 private:
  bool has_dense() const { return trained_.dense.weight != nullptr; }
  bool has_norm() const { return !head_.transform.norm.empty(); }

  template <typename Body>
  void over_rows(const Body& body) {
    pool_.run((rows_ + kRows - 1) / kRows, [&](int64_t task, int) {
      body(task * kRows, std::min(kRows, rows_ - task * kRows));
    });
  }

  void drop(const kernels::DropoutRule& rule, const std::vector<uint64_t>& keys, float* x) {
    over_rows([&](int64_t row, int64_t count) {
      kernels::dropout_rows(count, hidden_, rule, keys.data() + first_ + row, 0, 1,
                            x + row * hidden_, hidden_);
    });
  }

  // sums_ = W x; activated_ = act(sums_ + b); n_ = norm(activated_).
  void transform(const float* x) {
    const StateTransform& transform = head_.transform;
    sums_.resize(n_.size());
    activated_.resize(n_.size());
    over_rows([&](int64_t row, int64_t count) {
      const int64_t at = row * hidden_;
      kernels::linear(x + at, count, transform.dense.weight, sums_.data() + at);
      kernels::Products products;
      products.stride = hidden_;
      products.f32 = sums_.data() + at;
      kernels::bias_activation(count, hidden_, transform.activation, products,
                               transform.dense.bias.data(),
                               {DType::kF32, activated_.data() + at, hidden_, nullptr, nullptr});
      if (has_norm()) {
        kernels::layer_norm(count, hidden_, activated_.data() + at, transform.norm.gamma.data(),
                            transform.norm.beta.data(), transform.norm.eps, n_.data() + at);
      } else {
        std::copy_n(activated_.data() + at, count * hidden_, n_.data() + at);
      }
    });
  }

  void project(const Converted& n) {
    const int64_t columns = kernels::splits_columns() ? std::min(kColumns, outputs_) : outputs_;
    const int64_t column_tasks = (outputs_ + columns - 1) / columns;
    const int64_t row_tasks = (rows_ + kRows - 1) / kRows;
    pool_.run(row_tasks * column_tasks, [&](int64_t task, int) {
      const int64_t row = task % row_tasks * kRows;
      const int64_t column = task / row_tasks * columns;
      const int64_t count = std::min(kRows, rows_ - row);
      const int64_t width = std::min(columns, outputs_ - column);
      std::vector<float> sums(static_cast<size_t>(count * width));
      kernels::linear(n.rows(row), count, head_.output.weight, sums.data(), {column, width});
      const float* const bias = head_.output.bias.data() + column;
      for (int64_t r = 0; r < count; ++r) {
        float* const to = logits_.data() + (row + r) * outputs_ + column;
        for (int64_t c = 0; c < width; ++c) to[c] = sums[r * width + c] + bias[c];
      }
    });
  }

  // From d_logits to d_x, in x.
  void backward(const Converted& n, float* x) {
    const Converted d_logits(rows_, outputs_, type_, logits_.data(), pool_);
    add_weight_gradients(
        {{trained_.output.gradient, d_logits.rows(0), n.rows(0), outputs_, hidden_}}, rows_, pool_);
    std::vector<float> d_n(n_.size());
    over_rows([&](int64_t row, int64_t count) {
      kernels::linear(d_logits.rows(row), count, output_, d_n.data() + row * hidden_);
    });
    if (dropout_ != nullptr && dropout_->out.drops()) {
      drop(dropout_->out, dropout_->out_rows, d_n.data());
    }
    if (has_dense()) {
      transform_backward(d_n, x);
    } else {
      std::copy(d_n.begin(), d_n.end(), x);
    }
    if (dropout_ != nullptr && dropout_->in.drops()) drop(dropout_->in, dropout_->in_rows, x);
  }

  void transform_backward(std::vector<float>& d_n, float* x) {
    const StateTransform& transform = head_.transform;
    if (has_norm()) norm_backward(d_n);
    // sums_ become the activated rows again, which nobody needs; d_n the derivative by sums.
    over_rows([&](int64_t row, int64_t count) {
      const int64_t at = row * hidden_;
      kernels::activation_backward(count, hidden_, transform.activation, sums_.data() + at,
                                   transform.dense.bias.data(), d_n.data() + at,
                                   {DType::kF32, sums_.data() + at, hidden_, nullptr, nullptr},
                                   {DType::kF32, d_n.data() + at, hidden_, nullptr, nullptr});
    });
    add_weight_gradients({{trained_.dense.gradient,
                           {DType::kF32, d_n.data(), nullptr, nullptr},
                           {DType::kF32, x, nullptr, nullptr},
                           hidden_,
                           hidden_}},
                         rows_, pool_);
    over_rows([&](int64_t row, int64_t count) {
      kernels::linear(d_n.data() + row * hidden_, count, dense_, x + row * hidden_);
    });
  }

  void norm_backward(std::vector<float>& d_n) {
    const LayerNorm& norm = head_.transform.norm;
    const int64_t tiles = (rows_ + kRows - 1) / kRows;
    std::vector<float> shares(static_cast<size_t>(tiles * 2 * hidden_), 0.0f);
    over_rows([&](int64_t row, int64_t count) {
      float* const gamma = shares.data() + row / kRows * 2 * hidden_;
      float* const d = d_n.data() + row * hidden_;
      kernels::layer_norm_backward(count, hidden_, activated_.data() + row * hidden_,
                                   norm.gamma.data(), norm.eps, d, d, gamma, gamma + hidden_);
    });
    for (int64_t t = 0; t < tiles; ++t) {
      const float* const gamma = shares.data() + t * 2 * hidden_;
      if (trained_.norm.gamma != nullptr) kernels::add(hidden_, gamma, trained_.norm.gamma);
      if (trained_.norm.beta != nullptr) kernels::add(hidden_, gamma + hidden_, trained_.norm.beta);
    }
  }

  const Head& head_;
  const TrainedHead& trained_;
  const HeadDropout* const dropout_;
  const int64_t hidden_;
  const int64_t outputs_;
  const DType type_;
  ThreadPool& pool_;
  kernels::PackedMatrix output_, dense_;  // transposed
  int64_t first_ = 0;
  int64_t rows_ = 0;
  std::vector<float> sums_, activated_, n_, logits_;
};

}  // namespace

void train_head(const Head& head, const TrainedHead& trained, const HeadDropout* dropout,
                int64_t rows, int64_t hidden, int64_t chunk, const LossFunction& loss, float* x,
                ThreadPool& pool) {
  if (rows == 0) return;
  HeadTraining training(head, trained, dropout, hidden, pool);
  for (int64_t first = 0; first < rows; first += chunk) {
    training.run(first, std::min(chunk, rows - first), loss, x + first * hidden);
  }
}

int64_t head_chunk_rows(int64_t outputs) {
  return std::max(kGradientRows, kLogits / outputs / kGradientRows * kGradientRows);
}

uint64_t head_backward_bytes(int64_t hidden, int64_t outputs, DType type, int64_t rows,
                             int threads) {
  const auto chunk = static_cast<uint64_t>(std::min(rows, head_chunk_rows(outputs)));
  const uint64_t copies = type == DType::kF32 ? 4 : 6;
  const auto row =
      static_cast<uint64_t>(outputs) * copies + 4 * static_cast<uint64_t>(hidden) * sizeof(float);
  const uint64_t weights = 2 * static_cast<uint64_t>(hidden) * outputs * dtype_size(type);
  return chunk * row + weights + weight_gradient_bytes(hidden, threads);
}

}  // namespace longformer
