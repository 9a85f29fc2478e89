// exp and tanh of the rowwise_*.cc files, compiled once for each SIMD target. Each is
// branch-free and lane-wise, so an element's bits depend on its value alone, never on its lane.
//
// Products that are added are written as MulAdd throughout: nothing is left for the compiler to
// contract differently in two places. Maximal errors over all floats, measured with AVX-512, AVX2
// and SSE4 (rowwise_math_test.cc repeats it):
//   exp_full      e^x, denormal results included             1.01 ulp
//   exp_negative  e^x for x <= 0; below kExpFlush exactly 0  the same
//   tanh_any      8e-8
#if defined(LONGFORMER_ROWWISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGFORMER_ROWWISE_MATH_INL_H_
#undef LONGFORMER_ROWWISE_MATH_INL_H_
#else
#define LONGFORMER_ROWWISE_MATH_INL_H_
#endif

#include <cstdint>

#include "kernels/rowwise_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

// e^x = 2^n * e^r, n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts (the first has 10
// bits, so n times it is exact), e^r = 1 + r + r^2 q(r), q minimax of degree 4 on |r| <= 0.3475
// (relative error 3e-9 before rounding).
struct Reduced {
  VF power;    // e^r
  VF rounded;  // n + 1.5 * 2^23: n stands in the low bits
};

HWY_INLINE Reduced exp_reduce(F32 d, VF x) {
  const VF magic = hn::Set(d, 12582912.0f);
  const VF rounded = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
  const VF n = hn::Sub(rounded, magic);
  VF r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  VF q = hn::MulAdd(hn::Set(d, 0x1.6a21acp-10f), r, hn::Set(d, 0x1.123b6ap-7f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558fap-5f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.555490p-3f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2f));
  q = hn::MulAdd(q, hn::Mul(r, r), r);
  return {hn::Add(q, hn::Set(d, 1.0f)), rounded};
}

// Below this exp_negative is 0: the smallest normal number is e^-87.33, and denormal numbers are
// slow in the products that follow.
constexpr float kExpFlush = -87.0f;

// NaN stays NaN: the comparison is false and the product carries it.
HWY_INLINE VF exp_negative(F32 d, VF x) {
  const I32 di;
  const Reduced e = exp_reduce(d, x);
  // The low 8 bits of rounded are n; shifted into the exponent, 127 added.
  const auto exponent =
      hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, e.rounded)), hn::Set(di, int32_t{127} << 23));
  const VF value = hn::Mul(e.power, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kExpFlush)), value);
}

// All x: 0 below -103.98, infinity above 88.73, denormal results rounded once. Scaled in two steps,
// because 2^n itself may be no float.
HWY_INLINE VF exp_full(F32 d, VF x) {
  const I32 di;
  const VF clamped = at_least(d, -105.0f, at_most(d, 89.0f, x));
  const Reduced e = exp_reduce(d, clamped);
  const auto n = hn::Sub(hn::BitCast(di, e.rounded), hn::Set(di, 0x4B400000));
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(di, 127);
  const VF scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  return hn::Mul(hn::Mul(e.power, scale1), scale2);
}

// x + x^3 p(x^2) below 0.625, 1 - 2 / (e^(2|x|) + 1) above.
HWY_INLINE VF tanh_any(F32 d, VF x) {
  const VF t = hn::Abs(x);
  const VF one = hn::Set(d, 1.0f);
  const VF e = exp_full(d, hn::Add(t, t));
  const VF large = hn::CopySign(hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one))), x);
  const VF s = hn::Mul(x, x);
  VF p = hn::MulAdd(hn::Set(d, -5.70498872745e-3f), s, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, s, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, s, hn::Set(d, -3.33332819422e-1f));
  const VF small = hn::MulAdd(hn::Mul(p, s), x, x);
  return hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.625f)), large, small);
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#endif
