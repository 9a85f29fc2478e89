// How epilogues read the rows of a product and write rows for the next one, compiled once for each
// SIMD target.
//
// Read: one functor a row, biased(c) = x[c] + bias[c]. f32: one addition. s32: the exact integer
// s32 - zero * column_sum, rounded to f32 (nothing is lost below 2^24), then one MulAdd with
// row_scale * column_scale and the bias.
//
// Written, one functor a row, put(v, c):
//   f32   as it is
//   bf16  bits + 0x7FFF + (bit 16), upper half: nearest, ties to even, also for denormal numbers; a
//         sum that would carry past the largest bf16 gives infinity; NaN keeps its upper half and
//         gets the quiet bit. f32_to_bf16() of dtype.h, bit for bit.
//   u8    f32 first, while the smallest and the largest value of the row are noted; then, from the
//         first-level cache, by quantize_row()
#if defined(LONGFORMER_ROWWISE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGFORMER_ROWWISE_ROWS_INL_H_
#undef LONGFORMER_ROWWISE_ROWS_INL_H_
#else
#define LONGFORMER_ROWWISE_ROWS_INL_H_
#endif

#include <bit>
#include <cstring>
#include <limits>

#include "kernels/operands.h"
#include "kernels/rowwise_vector-inl.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

struct FloatRow {
  const float* x;
  const float* bias;
  template <class Access>
  HWY_INLINE VF biased(F32 d, Access access, size_t c) const {
    return hn::Add(access.load(d, x + c), access.load(d, bias + c));
  }
};

struct IntRow {
  const int32_t* x;
  const float* bias;
  VI zero;
  VF scale;
  const float* column_scales;
  const int32_t* column_sums;
  template <class Access>
  HWY_INLINE VF biased(F32 d, Access access, size_t c) const {
    const I32 di;
    const VI shift = hn::Mul(zero, access.load(di, column_sums + c));
    const VF exact = hn::ConvertTo(d, hn::Sub(access.load(di, x + c), shift));
    const VF factor = hn::Mul(scale, access.load(d, column_scales + c));
    return hn::MulAdd(exact, factor, access.load(d, bias + c));
  }
};

struct FloatProducts {
  const Products& p;
  HWY_INLINE FloatRow row(int64_t r, const float* bias) const {
    return {p.f32 + r * p.stride, bias};
  }
  // The memory of the sums of a row, to be overwritten.
  float* memory(int64_t r) const { return const_cast<float*>(p.f32 + r * p.stride); }
};

struct IntProducts {
  const Products& p;
  HWY_INLINE IntRow row(int64_t r, const float* bias) const {
    return {p.s32 + r * p.stride,
            bias,
            hn::Set(I32(), p.row_zeros[r]),
            hn::Set(F32(), p.row_scales[r]),
            p.column_scales,
            p.column_sums};
  }
  float* memory(int64_t r) const {
    return reinterpret_cast<float*>(const_cast<int32_t*>(p.s32 + r * p.stride));
  }
};

template <class Body>
HWY_INLINE void with_products(const Products& p, const Body& body) {
  if (p.f32 != nullptr) {
    body(FloatProducts{p});
  } else {
    body(IntProducts{p});
  }
}

HWY_INLINE hn::Vec<U16> to_bf16(F32 d, VF v) {
  const U32 du;
  const VU bits = hn::BitCast(du, v);
  const VU upper = hn::ShiftRight<16>(bits);
  const VU bias = hn::Add(hn::And(upper, hn::Set(du, 1)), hn::Set(du, 0x7FFF));
  const VU rounded = hn::ShiftRight<16>(hn::Add(bits, bias));
  const auto nan = hn::RebindMask(du, hn::IsNaN(v));
  const VU result = hn::IfThenElse(nan, hn::Or(upper, hn::Set(du, 0x40)), rounded);
  (void)d;
  return hn::TruncateTo(U16(), result);
}

struct FloatSink {
  float* row;
  template <class Access>
  HWY_INLINE void put(F32 d, Access access, VF v, size_t c) const {
    access.store(d, v, row + c);
  }
};

struct BFloat16Sink {
  BFloat16* row;
  template <class Access>
  HWY_INLINE void put(F32 d, Access access, VF v, size_t c) const {
    access.store(U16(), to_bf16(d, v), reinterpret_cast<uint16_t*>(row + c));
  }
};

HWY_INLINE FloatSink sink(float* row) { return {row}; }
HWY_INLINE BFloat16Sink sink(BFloat16* row) { return {row}; }

// Rows of a buffer of type kF32 or kBF16, one sink each.
template <class T>
struct RowSinks {
  const RowsBuffer& out;
  HWY_INLINE auto row(int64_t r) const { return sink(static_cast<T*>(out.data) + r * out.stride); }
};

template <class Body>
HWY_INLINE void with_sinks(const RowsBuffer& out, const Body& body) {
  if (out.type == DType::kBF16) {
    body(RowSinks<BFloat16>{out});
  } else {
    body(RowSinks<float>{out});
  }
}

// The smallest and the largest value of a row and 0, kept as the bits of floats: among floats with
// a sign the larger unsigned integer is the smaller float, among those without the larger signed
// integer is the larger float, and NaN lies outside both infinities, so that it cannot get lost.
struct Range {
  VU low;
  VI high;
  HWY_INLINE void add(VF v) {
    low = hn::Max(low, hn::BitCast(U32(), v));
    high = hn::Max(high, hn::BitCast(I32(), v));
  }
  HWY_INLINE float lowest() const { return std::bit_cast<float>(max_lanes(U32(), low)); }
  HWY_INLINE float highest() const { return std::bit_cast<float>(max_lanes(I32(), high)); }
};

HWY_INLINE Range range_of_zero() { return {hn::Set(U32(), 0x80000000u), hn::Zero(I32())}; }

struct RangeSink {
  float* row;
  Range& range;
  template <class Access>
  HWY_INLINE void put(F32 d, Access access, VF v, size_t c) const {
    range.add(v);
    access.store(d, v, row + c);
  }
};

// One row to u8, given the range of its values.
//   scale = (highest - lowest) / 255, or 1 where that is no normal number (a row of zeros)
//   zero  = -lowest / scale, rounded to an integer in 0 … 255
//   u8    = x / scale + zero, rounded to the nearest even integer, at least 0, at most 255
// 1 / scale is rounded once and x * (1 / scale) + zero is one MulAdd, so x = 0 gives zero exactly,
// u8 grows with x, and (u8 - zero) * scale lies within scale * (1/2 + 2^-14) of x. A row that is
// not finite, or whose range is not: scale NaN, zero 0, all u8 0.
HWY_INLINE void quantize_row(F32 d, size_t cols, const float* x, const Range& range, uint8_t* out,
                             float& row_scale, int32_t& row_zero) {
  const float lowest = range.lowest();
  const float width = range.highest() - lowest;
  row_zero = 0;
  if (!(width <= std::numeric_limits<float>::max())) {
    row_scale = std::numeric_limits<float>::quiet_NaN();
    std::memset(out, 0, cols);
    return;
  }
  row_scale = width / 255.0f;
  if (row_scale < std::numeric_limits<float>::min()) {
    row_scale = 1.0f;
    std::memset(out, 0, cols);
    return;
  }
  const float inverse = 1.0f / row_scale;
  const VF factor = hn::Set(d, inverse);
  row_zero =
      static_cast<int32_t>(hn::GetLane(hn::MulAdd(hn::Set(d, -lowest), factor, hn::Set(d, 0.5f))));
  const VF zero = hn::Set(d, static_cast<float>(row_zero));
  for_columns(d, cols, [&](auto access, size_t c) {
    const VI steps = hn::NearestInt(hn::MulAdd(access.load(d, x + c), factor, zero));
    access.store(U8(), hn::DemoteTo(U8(), steps), out + c);
  });
}

// Calls body(r, sink) for each row of `out`. For kU8 the sink of a row is the f32 memory that
// `memory(r)` names.
template <class Memory, class Body>
HWY_INLINE void for_rows(F32 d, int64_t rows, int64_t cols, const RowsBuffer& out,
                         const Memory& memory, const Body& body) {
  switch (out.type) {
    case DType::kBF16:
      for (int64_t r = 0; r < rows; ++r) {
        body(r, BFloat16Sink{static_cast<BFloat16*>(out.data) + r * out.stride});
      }
      return;
    case DType::kU8:
      for (int64_t r = 0; r < rows; ++r) {
        Range range = range_of_zero();
        float* row = memory(r);
        body(r, RangeSink{row, range});
        quantize_row(d, static_cast<size_t>(cols), row, range,
                     static_cast<uint8_t*>(out.data) + r * out.stride, out.scales[r], out.zeros[r]);
      }
      return;
    default:
      for (int64_t r = 0; r < rows; ++r) {
        body(r, FloatSink{static_cast<float*>(out.data) + r * out.stride});
      }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#endif
