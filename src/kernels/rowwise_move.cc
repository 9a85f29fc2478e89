// Row-wise moves and small sums: rows on their way into a product (rowwise_rows-inl.h has the
// formulas), residuals, scaling and normalising rows, y += a x, y += x, sums of columns, row by
// row, the dot product. Cost: memory bound; each element is read once and written once, and read
// twice where it becomes u8.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_move.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/profile.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

void to_rows_target(int64_t rows, int64_t cols, const float* x, const RowsBuffer& out) {
  const F32 d;
  const auto n = static_cast<size_t>(cols);
  if (out.type != DType::kU8) {
    const auto memory = [](int64_t) { return static_cast<float*>(nullptr); };
    for_rows(d, rows, cols, out, memory, [&](int64_t r, const auto& to) {
      const float* from = x + r * cols;
      for_columns(d, n,
                  [&](auto access, size_t c) { to.put(d, access, access.load(d, from + c), c); });
    });
    return;
  }
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    Range range = range_of_zero();
    for_columns(d, n, [&](auto access, size_t c) { range.add(access.load(d, x + c)); });
    quantize_row(d, n, x, range, static_cast<uint8_t*>(out.data) + r * out.stride, out.scales[r],
                 out.zeros[r]);
  }
}

void bias_residual_target(int64_t rows, int64_t cols, const Products& x, const float* bias,
                          const float* residual, int64_t stride, float* y) {
  const F32 d;
  with_products(x, [&](const auto& products) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto from = products.row(r, bias);
      const float* add = residual + r * stride;
      float* to = y + r * stride;
      for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
        access.store(d, hn::Add(from.biased(d, access, c), access.load(d, add + c)), to + c);
      });
    }
  });
}

void scale_rows_target(int64_t rows, int64_t cols, const float* factors, float* x) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    const VF factor = hn::Set(d, factors[r]);
    for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
      access.store(d, hn::Mul(access.load(d, x + c), factor), x + c);
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
    for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
      access.store(d, hn::Div(access.load(d, x + c), sum), y + c);
    });
  }
}

void add_scaled_target(int64_t cols, float a, const float* x, float* y) {
  const F32 d;
  const VF factor = hn::Set(d, a);
  for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
    access.store(d, hn::MulAdd(factor, access.load(d, x + c), access.load(d, y + c)), y + c);
  });
}

void add_target(int64_t count, const float* x, float* y) {
  const F32 d;
  for_columns(d, static_cast<size_t>(count), [=](auto access, size_t i) {
    access.store(d, hn::Add(access.load(d, y + i), access.load(d, x + i)), y + i);
  });
}

template <class Access>
HWY_INLINE VF load_row(F32 d, Access access, const float* p) {
  return access.load(d, p);
}
template <class Access>
HWY_INLINE VF load_row(F32 d, Access access, const BFloat16* p) {
  const U32 du;
  const auto half = access.load(U16(), reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, half)));
}

// Four rows at a time save reading and writing the sums; the order stays that of the rows.
template <class T>
HWY_INLINE void sum_columns(int64_t rows, int64_t cols, const T* x, float* sums) {
  const F32 d;
  const auto n = static_cast<size_t>(cols);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * cols) {
    for_columns(d, n, [=](auto access, size_t c) {
      VF sum = access.load(d, sums + c);
      for (size_t i = 0; i < 4; ++i) sum = hn::Add(sum, load_row(d, access, x + i * n + c));
      access.store(d, sum, sums + c);
    });
  }
  for (; r < rows; ++r, x += cols) {
    for_columns(d, n, [=](auto access, size_t c) {
      access.store(d, hn::Add(access.load(d, sums + c), load_row(d, access, x + c)), sums + c);
    });
  }
}

void add_column_sums_target(int64_t rows, int64_t cols, const Rows& x, float* sums) {
  if (x.type == DType::kBF16) {
    sum_columns(rows, cols, static_cast<const BFloat16*>(x.data), sums);
  } else {
    sum_columns(rows, cols, static_cast<const float*>(x.data), sums);
  }
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
  if (c < n) {
    const Part tail{n - c};
    s1 = hn::MulAdd(tail.load(d, x + c), tail.load(d, y + c), s1);
  }
  return sum_lanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(to_rows_target);
HWY_EXPORT(bias_residual_target);
HWY_EXPORT(scale_rows_target);
HWY_EXPORT(normalize_rows_target);
HWY_EXPORT(add_scaled_target);
HWY_EXPORT(add_target);
HWY_EXPORT(add_column_sums_target);
HWY_EXPORT(dot_target);

void to_rows(int64_t rows, int64_t cols, const float* x, const RowsBuffer& out) noexcept {
  const ProfileScope scope({"to_rows", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(to_rows_target)(rows, cols, x, out);
}

void bias_residual(int64_t rows, int64_t cols, const Products& x, const float* bias,
                   const float* residual, int64_t stride, float* y) noexcept {
  const ProfileScope scope({"bias_residual", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(bias_residual_target)(rows, cols, x, bias, residual, stride, y);
}

void scale_rows(int64_t rows, int64_t cols, const float* factors, float* x) noexcept {
  const ProfileScope scope({"scale_rows", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(scale_rows_target)(rows, cols, factors, x);
}

void normalize_rows(int64_t rows, int64_t cols, const float* x, const float* sums, int64_t y_stride,
                    float* y) noexcept {
  const ProfileScope scope({"normalize_rows", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(normalize_rows_target)(rows, cols, x, sums, y_stride, y);
}

void add_scaled(int64_t cols, float a, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(add_scaled_target)(cols, a, x, y);
}

void add(int64_t count, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(add_target)(count, x, y);
}

void add_column_sums(int64_t rows, int64_t cols, const Rows& x, float* sums) noexcept {
  const ProfileScope scope({"add_column_sums", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(add_column_sums_target)(rows, cols, x, sums);
}

float dot(int64_t cols, const float* x, const float* y) noexcept {
  return HWY_DYNAMIC_DISPATCH(dot_target)(cols, x, y);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
