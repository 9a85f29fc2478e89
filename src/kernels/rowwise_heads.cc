// Columns of a projection on their way into head planes: bias and scale added, turned by rotary
// angles where there are any. Pairs are c and c + d / 2 of a head.
//   a' = a cos - b sin,  b' = b cos + a sin,  a, b = (x + bias) * scale
// Back, for derivatives:
//   d_a = (d_a' cos + d_b' sin) * scale,  d_b = (d_b' cos - d_a' sin) * scale
// The cosines and sines of a batch are made once and serve all layers with the same frequencies, so
// they may be slow and exact: the product position * frequency is rounded to f32, as models were
// trained with it, and the cosine of that is right to the last bit. Cost of the split: memory
// bound; with rotation one more read of cosines and sines a row and head.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_heads.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/profile.h"
#include "kernels/rotary.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

// `head_dim` columns of a row from column o on. By value: what is captured by reference is read
// again from memory after each store.
template <class Row, class Sink>
HWY_INLINE void copy_head(F32 d, size_t head_dim, Row from, size_t o, VF factor, Sink to) {
  for_columns(d, head_dim, [=](auto access, size_t c) {
    to.put(d, access, hn::Mul(from.biased(d, access, o + c), factor), c);
  });
}

template <class Row, class Sink>
HWY_INLINE void turn_head(F32 d, size_t head_dim, Row from, size_t o, VF factor,
                          const float* cosines, const float* sines, Sink to) {
  const size_t half = head_dim / 2;
  for_columns(d, half, [=](auto access, size_t c) {
    const VF a = hn::Mul(from.biased(d, access, o + c), factor);
    const VF b = hn::Mul(from.biased(d, access, o + half + c), factor);
    const VF cosine = access.load(d, cosines + c), sine = access.load(d, sines + c);
    to.put(d, access, hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), c);
    to.put(d, access, hn::MulAdd(a, sine, hn::Mul(b, cosine)), half + c);
  });
}

template <class T>
HWY_INLINE void split_rows(int64_t rows, const Products& x, const HeadSplit& split, T* out) {
  const F32 d;
  const VF factor = hn::Set(d, split.scale);
  const int64_t head_dim = split.head_dim;
  const auto columns = static_cast<size_t>(head_dim);
  with_products(x, [&](const auto& products) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto from = products.row(r, split.bias);
      const bool kept = split.keep == nullptr || split.keep[r] != 0;
      for (const int32_t h : split.heads) {
        const int64_t place = split.destination[r] - split.first_destination;
        T* to = out + (h * split.plane_rows + place) * head_dim;
        const auto o = static_cast<size_t>((h - split.first_head) * head_dim);
        if (!kept) {
          std::fill(to, to + head_dim, T{});
        } else if (split.cosines == nullptr) {
          copy_head(d, columns, from, o, factor, sink(to));
        } else {
          const int64_t angles = r * (head_dim / 2);
          turn_head(d, columns, from, o, factor, split.cosines + angles, split.sines + angles,
                    sink(to));
        }
      }
    }
  });
}

void split_f32_target(int64_t rows, const Products& x, const HeadSplit& split, float* out) {
  split_rows(rows, x, split, out);
}
void split_bf16_target(int64_t rows, const Products& x, const HeadSplit& split, BFloat16* out) {
  split_rows(rows, x, split, out);
}

HWY_INLINE void turn_head_back(F32 d, size_t head_dim, const float* from, VF factor,
                               const float* cosines, const float* sines, float* to) {
  const size_t half = head_dim / 2;
  for_columns(d, half, [=](auto access, size_t c) {
    const VF a = access.load(d, from + c), b = access.load(d, from + half + c);
    const VF cosine = access.load(d, cosines + c), sine = access.load(d, sines + c);
    const VF back_a = hn::MulAdd(b, sine, hn::Mul(a, cosine));
    const VF back_b = hn::NegMulAdd(a, sine, hn::Mul(b, cosine));
    access.store(d, hn::Mul(back_a, factor), to + c);
    access.store(d, hn::Mul(back_b, factor), to + half + c);
  });
}

void merge_heads_target(int64_t rows, const float* out, const HeadSplit& split, float* x,
                        int64_t stride) {
  const F32 d;
  const VF factor = hn::Set(d, split.scale);
  const int64_t head_dim = split.head_dim;
  const auto columns = static_cast<size_t>(head_dim);
  for (int64_t r = 0; r < rows; ++r) {
    const bool kept = split.keep == nullptr || split.keep[r] != 0;
    for (const int32_t h : split.heads) {
      float* to = x + r * stride + (h - split.first_head) * head_dim;
      if (!kept) {
        std::fill(to, to + head_dim, 0.0f);
        continue;
      }
      const int64_t place = split.destination[r] - split.first_destination;
      const float* from = out + (h * split.plane_rows + place) * head_dim;
      if (split.cosines == nullptr) {
        for_columns(d, columns, [=](auto access, size_t c) {
          access.store(d, hn::Mul(access.load(d, from + c), factor), to + c);
        });
      } else {
        const int64_t angles = r * (head_dim / 2);
        turn_head_back(d, columns, from, factor, split.cosines + angles, split.sines + angles, to);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(split_f32_target);
HWY_EXPORT(split_bf16_target);
HWY_EXPORT(merge_heads_target);

void split_heads(int64_t rows, const Products& x, const HeadSplit& split, float* out) noexcept {
  const ProfileScope scope(
      {"split_heads", {rows, static_cast<int64_t>(split.heads.size()) * split.head_dim}});
  HWY_DYNAMIC_DISPATCH(split_f32_target)(rows, x, split, out);
}
void split_heads(int64_t rows, const Products& x, const HeadSplit& split, BFloat16* out) noexcept {
  const ProfileScope scope(
      {"split_heads", {rows, static_cast<int64_t>(split.heads.size()) * split.head_dim}});
  HWY_DYNAMIC_DISPATCH(split_bf16_target)(rows, x, split, out);
}

void merge_heads(int64_t rows, const float* out, const HeadSplit& split, float* x,
                 int64_t stride) noexcept {
  const ProfileScope scope(
      {"merge_heads", {rows, static_cast<int64_t>(split.heads.size()) * split.head_dim}});
  HWY_DYNAMIC_DISPATCH(merge_heads_target)(rows, out, split, x, stride);
}

void rotary_angles(int64_t rows, int64_t half, const int64_t* positions, const float* frequencies,
                   float* cosines, float* sines) noexcept {
  const ProfileScope scope({"rotary_angles", {rows, half}});
  for (int64_t r = 0; r < rows; ++r) {
    const float position = static_cast<float>(positions[r]);
    for (int64_t c = 0; c < half; ++c) {
      const float angle = position * frequencies[c];
      cosines[r * half + c] = static_cast<float>(std::cos(double{angle}));
      sines[r * half + c] = static_cast<float>(std::sin(double{angle}));
    }
  }
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
