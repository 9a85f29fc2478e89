// What every rowwise_*.cc starts from, compiled once for each SIMD target: the vector types,
// walking the columns of a row, sums and maxima over lanes.
#if defined(LONGFORMER_ROWWISE_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGFORMER_ROWWISE_VECTOR_INL_H_
#undef LONGFORMER_ROWWISE_VECTOR_INL_H_
#else
#define LONGFORMER_ROWWISE_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using U32 = hn::ScalableTag<uint32_t>;
using U16 = hn::Rebind<uint16_t, F32>;  // half a vector
using U8 = hn::Rebind<uint8_t, F32>;    // a quarter
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
using VU = hn::Vec<U32>;

// How a vector of a row is read and written: all of it, or the `count` < Lanes columns that the row
// still has, with zeros behind. The latter through memory: not every target has masked loads that
// leave what lies behind the row alone.
struct Whole {
  template <class D, class T>
  HWY_INLINE hn::Vec<D> load(D d, const T* p) const {
    return hn::LoadU(d, p);
  }
  template <class D, class T>
  HWY_INLINE void store(D d, hn::Vec<D> v, T* p) const {
    hn::StoreU(v, d, p);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> keep(D, hn::Vec<D> v) const {
    return v;
  }
};

struct Part {
  size_t count;
  template <class D, class T>
  HWY_INLINE hn::Vec<D> load(D d, const T* p) const {
    HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
    std::memcpy(lanes, p, count * sizeof(T));
    return hn::Load(d, lanes);
  }
  template <class D, class T>
  HWY_INLINE void store(D d, hn::Vec<D> v, T* p) const {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::memcpy(p, lanes, count * sizeof(T));
  }
  // The columns of the row, zeros behind.
  template <class D>
  HWY_INLINE hn::Vec<D> keep(D d, hn::Vec<D> v) const {
    return hn::IfThenElseZero(hn::FirstN(d, count), v);
  }
};

// Calls body(access, c) for the columns [0, cols) in steps of a vector; access is Whole, or Part in
// the last call.
template <class Body>
HWY_INLINE void for_columns(F32 d, size_t cols, const Body& body) {
  const size_t lanes = hn::Lanes(d);
  size_t c = 0;
  for (; c + lanes <= cols; c += lanes) body(Whole(), c);
  if (c < cols) body(Part{cols - c}, c);
}

// The smaller of x and the limit, the larger; NaN stays. x86 returns the second operand where one
// is NaN, other vector targets NaN, but the scalar one the number.
HWY_INLINE VF at_most(F32 d, float limit, VF x) {
  const VF top = hn::Set(d, limit);
  if constexpr (HWY_TARGET == HWY_SCALAR) return hn::IfThenElse(hn::Gt(x, top), top, x);
  return hn::Min(top, x);
}
HWY_INLINE VF at_least(F32 d, float limit, VF x) {
  const VF bottom = hn::Set(d, limit);
  if constexpr (HWY_TARGET == HWY_SCALAR) return hn::IfThenElse(hn::Lt(x, bottom), bottom, x);
  return hn::Max(bottom, x);
}

HWY_INLINE float sum_lanes(F32 d, VF v) { return hn::GetLane(hn::SumOfLanes(d, v)); }
template <class D>
HWY_INLINE hn::TFromD<D> max_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::MaxOfLanes(d, v));
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#endif
