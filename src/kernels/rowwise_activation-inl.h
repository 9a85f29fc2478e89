// The activations and their derivatives, compiled once for each SIMD target: f(d, x) is the value,
// f.both(d, x) the value, with the same bits, and the derivative there.
//   gelu       x Phi(x), Phi the normal distribution;  Phi(x) + x e^(-x^2 / 2) / sqrt(2 pi)
//   gelu_tanh  x s(2u), s(z) = 1 / (1 + e^-z), u = sqrt(2 / pi) (x + 0.044715 x^3), that is 0.5 x
//   (1
//              + tanh(u));  s + x s (1 - s) 2u'
//   silu       x s(x);  s + x s (1 - s);  quick_gelu: with 1.702 x in s
//   relu       max(x, 0), NaN kept;  1 above 0, else 0
//   tanh       1 - tanh(x)^2
// Where a derivative multiplies x by what vanishes, x is cut to where it has vanished, so that
// infinities give the limit.
#if defined(LONGFORMER_ROWWISE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGFORMER_ROWWISE_ACTIVATION_INL_H_
#undef LONGFORMER_ROWWISE_ACTIVATION_INL_H_
#else
#define LONGFORMER_ROWWISE_ACTIVATION_INL_H_
#endif

#include <limits>

#include "kernels/rowwise.h"
#include "kernels/rowwise_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

struct ValueAndSlope {
  VF value;
  VF slope;
};

// max(x, 0) - t Phi(-t), t = |x|: one formula for both signs, in which nothing cancels.
// Phi(-t) = 2^p, p = -1 + t (even(t^2) + t odd(t^2)), fitted on [0, 9] so that t 2^p is off by less
// than 2.5e-8 max(t, 1) there; t beyond counts as 9, where t 2^p is 1e-18. With p = n + f, n whole:
// 2^p = 2^n (1 + f s(f)), s fitted on |f| <= 1/2 to a relative error of 1e-7.
struct Gelu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    const VF t = at_most(d, 9.0f, hn::Abs(x));
    return value(d, x, t, upper_tail(d, t));
  }

  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    const VF t = at_most(d, 9.0f, hn::Abs(x));
    const VF tail = upper_tail(d, t);
    const VF phi = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
    const VF minus_half = hn::Set(d, -0.5f);
    const VF bell = hn::Mul(hn::Set(d, 0.3989422804014327f),
                            exp_negative(d, hn::Mul(minus_half, hn::Mul(t, t))));
    return {value(d, x, t, tail), hn::MulAdd(hn::CopySign(t, x), bell, phi)};
  }

 private:
  static HWY_INLINE VF value(F32 d, VF x, VF t, VF tail) {
    return hn::NegMulAdd(t, tail, hn::Max(x, hn::Zero(d)));
  }

  // Phi(-t)
  static HWY_INLINE VF upper_tail(F32 d, VF t) {
    const I32 di;
    const VF one = hn::Set(d, 1.0f);
    const VF t2 = hn::Mul(t, t);
    VF odd = hn::MulAdd(hn::Set(d, -0x1.424594p-27f), t2, hn::Set(d, -0x1.828a2ap-18f));
    VF even = hn::MulAdd(hn::Set(d, 0x1.849a7ap-22f), t2, hn::Set(d, 0x1.8e711cp-15f));
    odd = hn::MulAdd(odd, t2, hn::Set(d, -0x1.880162p-13f));
    even = hn::MulAdd(even, t2, hn::Set(d, -0x1.6dfe3ep-13f));
    odd = hn::MulAdd(odd, t2, hn::Set(d, 0x1.d3a8ccp-8f));
    even = hn::MulAdd(even, t2, hn::Set(d, -0x1.ae8098p-5f));
    odd = hn::MulAdd(odd, t2, hn::Set(d, -0x1.d6361ep-2f));
    even = hn::MulAdd(even, t2, hn::Set(d, -0x1.26aefp0f));
    const VF p = hn::MulAdd(hn::MulAdd(odd, t, even), t, hn::Neg(one));

    const VF magic = hn::Set(d, 12582912.0f);
    const VF rounded = hn::Add(p, magic);  // n stands in the low bits
    const VF f = hn::Sub(p, hn::Sub(rounded, magic));
    VF s = hn::MulAdd(hn::Set(d, 0x1.5bb9e6p-10f), f, hn::Set(d, 0x1.3cea98p-7f));
    s = hn::MulAdd(s, f, hn::Set(d, 0x1.c6b754p-5f));
    s = hn::MulAdd(s, f, hn::Set(d, 0x1.ebf9bcp-3f));
    s = hn::MulAdd(s, f, hn::Set(d, 0x1.62e42ap-1f));
    const VF power = hn::MulAdd(s, f, one);
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, rounded));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, power), exponent));
  }
};

// x s(z), for e = e^-z, and its derivative, where z' is that of z.
HWY_INLINE VF times_sigmoid(F32 d, VF x, VF e) { return hn::Div(x, hn::Add(hn::Set(d, 1.0f), e)); }
HWY_INLINE ValueAndSlope sigmoid_slope(F32 d, VF x, VF e, VF cut_x, VF z_slope) {
  const VF one = hn::Set(d, 1.0f);
  const VF s = hn::Div(one, hn::Add(one, e));
  // 1 - s = e s, which does not cancel; e may be infinity where s is 0.
  const VF rest = hn::Mul(hn::Min(e, hn::Set(d, std::numeric_limits<float>::max())), s);
  const VF slope = hn::MulAdd(hn::Mul(cut_x, z_slope), hn::Mul(s, rest), s);
  return {times_sigmoid(d, x, e), slope};
}
HWY_INLINE VF cut_to(F32 d, float limit, VF x) { return at_least(d, -limit, at_most(d, limit, x)); }

struct GeluTanh {
  HWY_INLINE VF operator()(F32 d, VF x) const { return times_sigmoid(d, x, power(d, x)); }
  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    const VF cut = cut_to(d, 20.0f, x);
    const VF twice = hn::Set(d, 1.5957691216057308f);
    const VF z_slope =
        hn::MulAdd(hn::Mul(hn::Set(d, 3.0f * 0.044715f * 1.5957691216057308f), cut), cut, twice);
    return sigmoid_slope(d, x, power(d, x), cut, z_slope);
  }

 private:
  static HWY_INLINE VF power(F32 d, VF x) {
    const VF k = hn::Set(d, -1.5957691216057308f);  // -2 sqrt(2 / pi)
    const VF cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x)), x, x);
    return exp_full(d, hn::Mul(k, cubic));
  }
};

struct Silu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    return times_sigmoid(d, x, exp_full(d, hn::Neg(x)));
  }
  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    return sigmoid_slope(d, x, exp_full(d, hn::Neg(x)), cut_to(d, 90.0f, x), hn::Set(d, 1.0f));
  }
};

struct QuickGelu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    return times_sigmoid(d, x, exp_full(d, hn::Mul(hn::Set(d, -1.702f), x)));
  }
  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    const VF e = exp_full(d, hn::Mul(hn::Set(d, -1.702f), x));
    return sigmoid_slope(d, x, e, cut_to(d, 60.0f, x), hn::Set(d, 1.702f));
  }
};

struct Relu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    return {(*this)(d, x), hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), hn::Set(d, 1.0f))};
  }
};

struct Tanh {
  HWY_INLINE VF operator()(F32 d, VF x) const { return tanh_any(d, x); }
  HWY_INLINE ValueAndSlope both(F32 d, VF x) const {
    const VF y = tanh_any(d, x);
    return {y, hn::NegMulAdd(y, y, hn::Set(d, 1.0f))};
  }
};

// Calls body with the functor of the activation.
template <class Body>
HWY_INLINE void with_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kGelu:
      return body(Gelu());
    case Activation::kGeluTanh:
      return body(GeluTanh());
    case Activation::kRelu:
      return body(Relu());
    case Activation::kSilu:
      return body(Silu());
    case Activation::kTanh:
      return body(Tanh());
    case Activation::kQuickGelu:
      return body(QuickGelu());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#endif
