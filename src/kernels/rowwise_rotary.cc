// Rotary positions on their way from a projection into head planes; pairs are c and c + d / 2.
//   a' = a cos - b sin,  b' = b cos + a sin,  a, b = (x + bias) * scale
// The cosines and sines of a batch are made once and serve all layers with the same frequencies, so
// they may be slow and exact: the product position * frequency is rounded to f32, as models were
// trained with it, and the cosine of that is right to the last bit. Cost of the split: memory
// bound, as without rotation, plus one read of cosines and sines a row and head.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_rotary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/rotary.h"
#include "kernels/rowwise_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

// One head of one row. `load(p, c)` and `store(v, p, c)` handle a vector or the tail of a half.
HWY_INLINE void rotate_head(F32 d, size_t half, const float* from, const float* add, VF factor,
                            const float* cosine, const float* sine, float* to) {
  const auto turn = [&](VF a, VF b, VF cosines, VF sines, VF& low, VF& high) {
    low = hn::NegMulAdd(b, sines, hn::Mul(a, cosines));
    high = hn::MulAdd(a, sines, hn::Mul(b, cosines));
  };
  for_columns(
      d, half,
      [&](size_t c) {
        const VF a = hn::Mul(hn::Add(hn::LoadU(d, from + c), hn::LoadU(d, add + c)), factor);
        const VF b =
            hn::Mul(hn::Add(hn::LoadU(d, from + half + c), hn::LoadU(d, add + half + c)), factor);
        VF low, high;
        turn(a, b, hn::LoadU(d, cosine + c), hn::LoadU(d, sine + c), low, high);
        hn::StoreU(low, d, to + c);
        hn::StoreU(high, d, to + half + c);
      },
      [&](size_t c, size_t n) {
        const VF a = hn::Mul(hn::Add(load_tail(d, from + c, n), load_tail(d, add + c, n)), factor);
        const VF b = hn::Mul(
            hn::Add(load_tail(d, from + half + c, n), load_tail(d, add + half + c, n)), factor);
        VF low, high;
        turn(a, b, load_tail(d, cosine + c, n), load_tail(d, sine + c, n), low, high);
        store_tail(d, low, to + c, n);
        store_tail(d, high, to + half + c, n);
      });
}

void split_heads_rotary_target(int64_t rows, int64_t heads, int64_t head_dim,
                               const int32_t* head_list, int64_t head_count, const float* x,
                               const float* bias, float scale, const uint8_t* keep,
                               const int32_t* destination, int64_t plane_rows, const float* cosines,
                               const float* sines, float* out) {
  const F32 d;
  const VF factor = hn::Set(d, scale);
  const int64_t half = head_dim / 2;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < head_count; ++i) {
      const int64_t h = head_list[i];
      float* to = out + (h * plane_rows + destination[r]) * head_dim;
      if (keep != nullptr && keep[r] == 0) {
        std::fill(to, to + head_dim, 0.0f);
        continue;
      }
      rotate_head(d, static_cast<size_t>(half), x + (r * heads + h) * head_dim, bias + h * head_dim,
                  factor, cosines + r * half, sines + r * half, to);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(split_heads_rotary_target);

void rotary_angles(int64_t rows, int64_t half, const int64_t* positions, const float* frequencies,
                   float* cosines, float* sines) noexcept {
  for (int64_t r = 0; r < rows; ++r) {
    const float position = static_cast<float>(positions[r]);
    for (int64_t c = 0; c < half; ++c) {
      const float angle = position * frequencies[c];
      cosines[r * half + c] = static_cast<float>(std::cos(double{angle}));
      sines[r * half + c] = static_cast<float>(std::sin(double{angle}));
    }
  }
}

void split_heads_rotary(int64_t rows, int64_t heads, int64_t head_dim, const int32_t* head_list,
                        int64_t head_count, const float* x, const float* bias, float scale,
                        const uint8_t* keep, const int32_t* destination, int64_t plane_rows,
                        const float* cosines, const float* sines, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(split_heads_rotary_target)
  (rows, heads, head_dim, head_list, head_count, x, bias, scale, keep, destination, plane_rows,
   cosines, sines, out);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
