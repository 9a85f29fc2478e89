// Dropout of rows: x[r, c] = bits(row_keys[r], index) >= threshold ? x * scale : 0 (dropout.h). The
// draws are those of dropout_bits() to the bit, a lane an index. Cost: about 0.1 ns an element
// with AVX-512 on rows that lie in the first-level cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_dropout.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/profile.h"
#include "kernels/dropout.h"
#include "kernels/rowwise_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE VU mix(VU low, VU high, VU index) {
  const U32 du;
  VU x = hn::Add(low, hn::Mul(index, hn::Set(du, 0x9e3779b9u)));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(du, 0x85ebca6bu));
  x = hn::Xor(x, high);
  x = hn::Xor(x, hn::ShiftRight<13>(x));
  x = hn::Mul(x, hn::Set(du, 0xc2b2ae35u));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// index_at(access, c): the indices of the columns from c on.
template <class IndexAt>
HWY_INLINE void drop(int64_t rows, int64_t cols, const DropoutRule& rule, const uint64_t* row_keys,
                     float* x, int64_t stride, const IndexAt& index_at) {
  const F32 d;
  const U32 du;
  const VF scale = hn::Set(d, rule.scale);
  const VU threshold = hn::Set(du, rule.threshold);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const VU low = hn::Set(du, static_cast<uint32_t>(row_keys[r]));
    const VU high = hn::Set(du, static_cast<uint32_t>(row_keys[r] >> 32));
    for_columns(d, static_cast<size_t>(cols), [=, &index_at](auto access, size_t c) {
      const VU bits = mix(low, high, index_at(access, c));
      const auto dropped = hn::RebindMask(d, hn::Lt(bits, threshold));
      const VF kept = hn::Mul(access.load(d, x + c), scale);
      access.store(d, hn::IfThenZeroElse(dropped, kept), x + c);
    });
  }
}

void dropout_steps_target(int64_t rows, int64_t cols, const DropoutRule& rule,
                          const uint64_t* row_keys, uint32_t first_index, uint32_t index_step,
                          float* x, int64_t stride) {
  const U32 du;
  const VU steps = hn::Mul(hn::Iota(du, 0), hn::Set(du, index_step));
  drop(rows, cols, rule, row_keys, x, stride, [=](auto, size_t c) {
    return hn::Add(steps, hn::Set(du, first_index + static_cast<uint32_t>(c) * index_step));
  });
}

void dropout_indices_target(int64_t rows, int64_t cols, const DropoutRule& rule,
                            const uint64_t* row_keys, const uint32_t* indices, float* x,
                            int64_t stride) {
  const U32 du;
  drop(rows, cols, rule, row_keys, x, stride,
       [=](auto access, size_t c) { return access.load(du, indices + c); });
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(dropout_steps_target);
HWY_EXPORT(dropout_indices_target);

DropoutRule dropout_rule(double probability) noexcept {
  // Ties go to even, so that 2^-33 drops nothing.
  const double threshold = std::nearbyint(probability * 0x1p32);
  if (!(threshold >= 1.0)) return {};
  return {static_cast<uint32_t>(std::min(threshold, 0x1p32 - 1.0)),
          static_cast<float>(1.0 / (1.0 - probability))};
}

void dropout_rows(int64_t rows, int64_t cols, const DropoutRule& rule, const uint64_t* row_keys,
                  uint32_t first_index, uint32_t index_step, float* x, int64_t stride) noexcept {
  if (!rule.drops()) return;
  const ProfileScope scope({"dropout_rows", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(dropout_steps_target)
  (rows, cols, rule, row_keys, first_index, index_step, x, stride);
}

void dropout_rows(int64_t rows, int64_t cols, const DropoutRule& rule, const uint64_t* row_keys,
                  const uint32_t* indices, float* x, int64_t stride) noexcept {
  if (!rule.drops()) return;
  const ProfileScope scope({"dropout_rows", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(dropout_indices_target)(rows, cols, rule, row_keys, indices, x, stride);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
