// LayerNorm of rows of cols floats, with what stands before it in the model added on the way.
//   y = (t - mean) / sqrt(variance + eps) * gamma + beta, biased variance
// Three passes over a row that lies in the first-level cache: sum; sums of d = t - mean and of d^2,
// which also correct the mean by sum(d) / cols and the variance by its square; normalise. The
// correction makes a constant row exactly beta even with eps = 1e-12, as in the reference, and
// keeps large offsets harmless. Cost: about 0.15 ns an element with AVX-512. Backwards, with the
// same mean and scale, xhat = (x - mean) * scale, g = d_y * gamma:
//   d_x = (g - mean(g) - xhat * mean(g * xhat)) * scale,  d_gamma += d_y * xhat,  d_beta += d_y
// in four passes; about 0.3 ns an element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "base/profile.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

// Inputs: the value of column c of a row.
struct Plain {
  const float* x;
  template <class Access>
  HWY_INLINE VF load(F32 d, Access access, size_t c) const {
    return access.load(d, x + c);
  }
};

// (x + bias) + residual
template <class Row>
struct BiasResidual {
  Row row;
  const float* residual;
  template <class Access>
  HWY_INLINE VF load(F32 d, Access access, size_t c) const {
    return hn::Add(row.biased(d, access, c), access.load(d, residual + c));
  }
};

struct Moments {
  float mean;
  float scale;  // 1 / sqrt(variance + eps)
};

// Of a row whose elements add up to `total`, lane by lane.
HWY_INLINE Moments moments(F32 d, size_t cols, const float* row, VF total, float eps) {
  const float count = static_cast<float>(cols);
  const float first_mean = sum_lanes(d, total) / count;
  const VF shift = hn::Set(d, first_mean);
  VF offset = hn::Zero(d);
  VF squares = hn::Zero(d);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF centred = access.keep(d, hn::Sub(access.load(d, row + c), shift));
    offset = hn::Add(offset, centred);
    squares = hn::MulAdd(centred, centred, squares);
  });
  const float correction = sum_lanes(d, offset) / count;
  const float variance = std::fma(-correction, correction, sum_lanes(d, squares) / count);
  // Rounding may leave it just below zero; a comparison that is false for NaN keeps NaN.
  return {first_mean + correction, 1.0f / std::sqrt((variance < 0.0f ? 0.0f : variance) + eps)};
}

// y may be one of the inputs: each element is read before it is written.
template <class Input>
HWY_INLINE void normalize_row(F32 d, size_t cols, const Input& input, const float* gamma,
                              const float* beta, float eps, float* y) {
  VF total = hn::Zero(d);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF t = input.load(d, access, c);
    access.store(d, t, y + c);
    total = hn::Add(total, t);
  });
  const Moments row = moments(d, cols, y, total, eps);
  const VF means = hn::Set(d, row.mean);
  const VF scales = hn::Set(d, row.scale);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF unit = hn::Mul(hn::Sub(access.load(d, y + c), means), scales);
    access.store(d, hn::MulAdd(unit, access.load(d, gamma + c), access.load(d, beta + c)), y + c);
  });
}

// d_gamma, d_beta: null or added to. d_x may be d_y: both are read for a column before it is
// written.
HWY_INLINE void norm_row_backward(F32 d, size_t cols, const float* x, const float* gamma, float eps,
                                  const float* d_y, float* d_x, float* d_gamma, float* d_beta) {
  VF total = hn::Zero(d);
  for_columns(d, cols,
              [&](auto access, size_t c) { total = hn::Add(total, access.load(d, x + c)); });
  const Moments row = moments(d, cols, x, total, eps);
  const VF means = hn::Set(d, row.mean);
  const VF scales = hn::Set(d, row.scale);
  VF sum = hn::Zero(d);
  VF product = hn::Zero(d);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF unit = hn::Mul(hn::Sub(access.load(d, x + c), means), scales);
    const VF g = hn::Mul(access.load(d, d_y + c), access.load(d, gamma + c));
    sum = hn::Add(sum, g);
    // Behind the row g is 0, unit is not.
    product = hn::MulAdd(g, access.keep(d, unit), product);
  });
  if (d_gamma != nullptr) {
    for_columns(d, cols, [=](auto access, size_t c) {
      const VF unit = hn::Mul(hn::Sub(access.load(d, x + c), means), scales);
      access.store(d, hn::MulAdd(access.load(d, d_y + c), unit, access.load(d, d_gamma + c)),
                   d_gamma + c);
    });
  }
  if (d_beta != nullptr) {
    for_columns(d, cols, [=](auto access, size_t c) {
      access.store(d, hn::Add(access.load(d, d_beta + c), access.load(d, d_y + c)), d_beta + c);
    });
  }
  const float count = static_cast<float>(cols);
  const VF mean_g = hn::Set(d, sum_lanes(d, sum) / count);
  const VF mean_product = hn::Set(d, sum_lanes(d, product) / count);
  for_columns(d, cols, [=](auto access, size_t c) {
    const VF unit = hn::Mul(hn::Sub(access.load(d, x + c), means), scales);
    const VF g = access.load(d, gamma + c);
    const VF centred = hn::MulSub(access.load(d, d_y + c), g, mean_g);
    access.store(d, hn::Mul(hn::NegMulAdd(unit, mean_product, centred), scales), d_x + c);
  });
}

void layer_norm_backward_target(int64_t rows, int64_t cols, const float* x, const float* gamma,
                                float eps, const float* d_y, float* d_x, float* d_gamma,
                                float* d_beta) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r) {
    norm_row_backward(d, static_cast<size_t>(cols), x + r * cols, gamma, eps, d_y + r * cols,
                      d_x + r * cols, d_gamma, d_beta);
  }
}

void layer_norm_target(int64_t rows, int64_t cols, const float* x, const float* gamma,
                       const float* beta, float eps, float* y) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r) {
    normalize_row(d, static_cast<size_t>(cols), Plain{x + r * cols}, gamma, beta, eps,
                  y + r * cols);
  }
}

void bias_residual_layer_norm_target(int64_t rows, int64_t cols, const Products& x,
                                     const float* bias, const float* residual, const float* gamma,
                                     const float* beta, float eps, float* y) {
  const F32 d;
  with_products(x, [&](const auto& products) {
    for (int64_t r = 0; r < rows; ++r) {
      const BiasResidual input{products.row(r, bias), residual + r * cols};
      normalize_row(d, static_cast<size_t>(cols), input, gamma, beta, eps, y + r * cols);
    }
  });
}

void embedding_layer_norm_target(int64_t cols, const float* word, const float* position,
                                 const float* type, const float* gamma, const float* beta,
                                 float eps, float* y) {
  const F32 d;
  const BiasResidual input{FloatRow{word, position}, type};
  normalize_row(d, static_cast<size_t>(cols), input, gamma, beta, eps, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(layer_norm_target);
HWY_EXPORT(layer_norm_backward_target);
HWY_EXPORT(bias_residual_layer_norm_target);
HWY_EXPORT(embedding_layer_norm_target);

void layer_norm(int64_t rows, int64_t cols, const float* x, const float* gamma, const float* beta,
                float eps, float* y) noexcept {
  const ProfileScope scope({"layer_norm", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(layer_norm_target)(rows, cols, x, gamma, beta, eps, y);
}

void layer_norm_backward(int64_t rows, int64_t cols, const float* x, const float* gamma, float eps,
                         const float* d_y, float* d_x, float* d_gamma, float* d_beta) noexcept {
  const ProfileScope scope({"layer_norm_backward", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(layer_norm_backward_target)
  (rows, cols, x, gamma, eps, d_y, d_x, d_gamma, d_beta);
}

void bias_residual_layer_norm(int64_t rows, int64_t cols, const Products& x, const float* bias,
                              const float* residual, const float* gamma, const float* beta,
                              float eps, float* y) noexcept {
  const ProfileScope scope({"bias_residual_layer_norm", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(bias_residual_layer_norm_target)
  (rows, cols, x, bias, residual, gamma, beta, eps, y);
}

void embedding_layer_norm(int64_t cols, const float* word, const float* position, const float* type,
                          const float* gamma, const float* beta, float eps, float* y) noexcept {
  const ProfileScope scope({"embedding_layer_norm", {1, cols}});
  HWY_DYNAMIC_DISPATCH(embedding_layer_norm_target)
  (cols, word, position, type, gamma, beta, eps, y);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
