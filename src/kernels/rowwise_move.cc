// Row-wise moves and small sums: splitting heads, scaling and normalising rows, y += a x, the dot
// product. Cost: memory bound; each element is read once and written once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_move.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/rowwise.h"
#include "kernels/rowwise_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

void split_heads_target(int64_t rows, int64_t heads, int64_t head_dim, const int32_t* head_list,
                        int64_t head_count, const float* x, const float* bias, float scale,
                        const uint8_t* keep, const int32_t* destination, int64_t plane_rows,
                        float* out) {
  const F32 d;
  const VF factor = hn::Set(d, scale);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * heads * head_dim;
    for (int64_t i = 0; i < head_count; ++i) {
      const int64_t h = head_list[i];
      const float* from = row + h * head_dim;
      const float* add = bias + h * head_dim;
      float* to = out + (h * plane_rows + destination[r]) * head_dim;
      if (keep != nullptr && keep[r] == 0) {
        std::fill(to, to + head_dim, 0.0f);
        continue;
      }
      for_columns(
          d, static_cast<size_t>(head_dim),
          [&](size_t c) {
            const VF sum = hn::Add(hn::LoadU(d, from + c), hn::LoadU(d, add + c));
            hn::StoreU(hn::Mul(sum, factor), d, to + c);
          },
          [&](size_t c, size_t n) {
            const VF sum = hn::Add(load_tail(d, from + c, n), load_tail(d, add + c, n));
            store_tail(d, hn::Mul(sum, factor), to + c, n);
          });
    }
  }
}

void bias_residual_target(int64_t rows, int64_t cols, const float* x, const float* bias,
                          const float* residual, float* y) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += cols, residual += cols, y += cols) {
    for_columns(
        d, static_cast<size_t>(cols),
        [&](size_t c) {
          const VF sum = hn::Add(hn::LoadU(d, x + c), hn::LoadU(d, bias + c));
          hn::StoreU(hn::Add(sum, hn::LoadU(d, residual + c)), d, y + c);
        },
        [&](size_t c, size_t n) {
          const VF sum = hn::Add(load_tail(d, x + c, n), load_tail(d, bias + c, n));
          store_tail(d, hn::Add(sum, load_tail(d, residual + c, n)), y + c, n);
        });
  }
}

void scale_rows_target(int64_t rows, int64_t cols, const float* factors, float* x) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    const VF factor = hn::Set(d, factors[r]);
    for_columns(
        d, static_cast<size_t>(cols),
        [&](size_t c) { hn::StoreU(hn::Mul(hn::LoadU(d, x + c), factor), d, x + c); },
        [&](size_t c, size_t n) {
          store_tail(d, hn::Mul(load_tail(d, x + c, n), factor), x + c, n);
        });
  }
}

void normalize_rows_target(int64_t rows, int64_t cols, const float* x, const float* sums,
                           int64_t y_stride, float* y) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += cols, y += y_stride) {
    if (sums[r] == 0.0f) {
      std::fill(y, y + cols, 0.0f);
      continue;
    }
    const VF sum = hn::Set(d, sums[r]);
    for_columns(
        d, static_cast<size_t>(cols),
        [&](size_t c) { hn::StoreU(hn::Div(hn::LoadU(d, x + c), sum), d, y + c); },
        [&](size_t c, size_t n) { store_tail(d, hn::Div(load_tail(d, x + c, n), sum), y + c, n); });
  }
}

void add_scaled_target(int64_t cols, float a, const float* x, float* y) {
  const F32 d;
  const VF factor = hn::Set(d, a);
  for_columns(
      d, static_cast<size_t>(cols),
      [&](size_t c) {
        hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + c), hn::LoadU(d, y + c)), d, y + c);
      },
      [&](size_t c, size_t n) {
        store_tail(d, hn::MulAdd(factor, load_tail(d, x + c, n), load_tail(d, y + c, n)), y + c, n);
      });
}

float dot_target(int64_t cols, const float* x, const float* y) {
  const F32 d;
  const size_t lanes = hn::Lanes(d);
  const size_t n = static_cast<size_t>(cols);
  VF s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t c = 0;
  for (; c + 4 * lanes <= n; c += 4 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, y + c), s0);
    s1 = hn::MulAdd(hn::LoadU(d, x + c + lanes), hn::LoadU(d, y + c + lanes), s1);
    s2 = hn::MulAdd(hn::LoadU(d, x + c + 2 * lanes), hn::LoadU(d, y + c + 2 * lanes), s2);
    s3 = hn::MulAdd(hn::LoadU(d, x + c + 3 * lanes), hn::LoadU(d, y + c + 3 * lanes), s3);
  }
  for (; c + lanes <= n; c += lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, y + c), s0);
  }
  if (c < n) s1 = hn::MulAdd(load_tail(d, x + c, n - c), load_tail(d, y + c, n - c), s1);
  return sum_lanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(split_heads_target);
HWY_EXPORT(bias_residual_target);
HWY_EXPORT(scale_rows_target);
HWY_EXPORT(normalize_rows_target);
HWY_EXPORT(add_scaled_target);
HWY_EXPORT(dot_target);

void split_heads(int64_t rows, int64_t heads, int64_t head_dim, const int32_t* head_list,
                 int64_t head_count, const float* x, const float* bias, float scale,
                 const uint8_t* keep, const int32_t* destination, int64_t plane_rows,
                 float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(split_heads_target)
  (rows, heads, head_dim, head_list, head_count, x, bias, scale, keep, destination, plane_rows,
   out);
}

void bias_residual(int64_t rows, int64_t cols, const float* x, const float* bias,
                   const float* residual, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(bias_residual_target)(rows, cols, x, bias, residual, y);
}

void scale_rows(int64_t rows, int64_t cols, const float* factors, float* x) noexcept {
  HWY_DYNAMIC_DISPATCH(scale_rows_target)(rows, cols, factors, x);
}

void normalize_rows(int64_t rows, int64_t cols, const float* x, const float* sums, int64_t y_stride,
                    float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(normalize_rows_target)(rows, cols, x, sums, y_stride, y);
}

void add_scaled(int64_t cols, float a, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(add_scaled_target)(cols, a, x, y);
}

float dot(int64_t cols, const float* x, const float* y) noexcept {
  return HWY_DYNAMIC_DISPATCH(dot_target)(cols, x, y);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
