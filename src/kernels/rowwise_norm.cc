// LayerNorm of rows of cols floats, with what stands before it in the model added on the way.
//   y = (t - mean) / sqrt(variance + eps) * gamma + beta, biased variance
// Three passes over a row that lies in the first-level cache: sum; sums of d = t - mean and of d^2,
// which also correct the mean by sum(d) / cols and the variance by its square; normalise. The
// correction makes a constant row exactly beta even with eps = 1e-12, as in the reference, and
// keeps large offsets harmless. Cost: about 0.15 ns an element with AVX-512.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "base/profile.h"
#include "kernels/rowwise.h"
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
  const float count = static_cast<float>(cols);
  const float first_mean = sum_lanes(d, total) / count;

  const VF shift = hn::Set(d, first_mean);
  VF offset = hn::Zero(d);
  VF squares = hn::Zero(d);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF centred = access.keep(d, hn::Sub(access.load(d, y + c), shift));
    offset = hn::Add(offset, centred);
    squares = hn::MulAdd(centred, centred, squares);
  });
  const float correction = sum_lanes(d, offset) / count;
  const float mean = first_mean + correction;
  const float variance = std::fma(-correction, correction, sum_lanes(d, squares) / count);
  // Rounding may leave it just below zero; a comparison that is false for NaN keeps NaN.
  const float scale = 1.0f / std::sqrt((variance < 0.0f ? 0.0f : variance) + eps);

  const VF means = hn::Set(d, mean);
  const VF scales = hn::Set(d, scale);
  for_columns(d, cols, [&](auto access, size_t c) {
    const VF unit = hn::Mul(hn::Sub(access.load(d, y + c), means), scales);
    access.store(d, hn::MulAdd(unit, access.load(d, gamma + c), access.load(d, beta + c)), y + c);
  });
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
HWY_EXPORT(bias_residual_layer_norm_target);
HWY_EXPORT(embedding_layer_norm_target);

void layer_norm(int64_t rows, int64_t cols, const float* x, const float* gamma, const float* beta,
                float eps, float* y) noexcept {
  const ProfileScope scope({"layer_norm", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(layer_norm_target)(rows, cols, x, gamma, beta, eps, y);
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
