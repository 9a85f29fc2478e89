// act(x[r, c] + bias[c]) over the rows of a product, the same times a gate, and exp and tanh on
// their own. How rows are read and written: rowwise_rows-inl.h.
//   gelu       x Phi(x), Phi the normal distribution
//   gelu_tanh  0.5 x (1 + tanh(u)) = x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
//   silu       x / (1 + e^(-x));  quick_gelu  x / (1 + e^(-1.702 x));  relu  max(x, 0), NaN kept
// Numerics: gelu within 3e-7 of the exact value for |x| <= 8, for negative x within 7e-8 (8e-8 on
// targets without fused multiply-add, measured over all floats); gelu_tanh within 8e-7 for |x| <=
// 8; both within 2e-7 |x|. Cost with AVX-512: GELU about 0.2 ns an element, 0.06 more from s32
// sums, 0.1 more into bf16 or u8.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "base/profile.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_math-inl.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

// max(x, 0) - t Phi(-t), t = |x|: one formula for both signs, in which nothing cancels.
// Phi(-t) = 2^p, p = -1 + t (even(t^2) + t odd(t^2)), fitted on [0, 9] so that t 2^p is off by less
// than 2.5e-8 max(t, 1) there; t beyond counts as 9, where t 2^p is 1e-18. With p = n + f, n whole:
// 2^p = 2^n (1 + f s(f)), s fitted on |f| <= 1/2 to a relative error of 1e-7.
struct Gelu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    const I32 di;
    const VF one = hn::Set(d, 1.0f);
    const VF t = at_most(d, 9.0f, hn::Abs(x));
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
    const VF phi = hn::BitCast(d, hn::Add(hn::BitCast(di, power), exponent));
    return hn::NegMulAdd(t, phi, hn::Max(x, hn::Zero(d)));
  }
};

HWY_INLINE VF times_sigmoid(F32 d, VF x, VF minus_argument) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), exp_full(d, minus_argument)));
}

struct GeluTanh {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    const VF k = hn::Set(d, -1.5957691216057308f);  // -2 sqrt(2 / pi)
    const VF cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x)), x, x);
    return times_sigmoid(d, x, hn::Mul(k, cubic));
  }
};
struct Silu {
  HWY_INLINE VF operator()(F32 d, VF x) const { return times_sigmoid(d, x, hn::Neg(x)); }
};
struct QuickGelu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    return times_sigmoid(d, x, hn::Mul(hn::Set(d, -1.702f), x));
  }
};
struct Relu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
};
struct Tanh {
  HWY_INLINE VF operator()(F32 d, VF x) const { return tanh_any(d, x); }
};
struct Exp {
  HWY_INLINE VF operator()(F32 d, VF x) const { return exp_full(d, x); }
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

void bias_activation_target(int64_t rows, int64_t cols, Activation activation, const Products& x,
                            const float* bias, const RowsBuffer& out) {
  const F32 d;
  with_activation(activation, [&](const auto& f) {
    with_products(x, [&](const auto& products) {
      const auto memory = [&](int64_t r) { return products.memory(r); };
      for_rows(d, rows, cols, out, memory, [&](int64_t r, const auto& to) {
        const auto from = products.row(r, bias);
        for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
          to.put(d, access, f(d, from.biased(d, access, c)), c);
        });
      });
    });
  });
}

// Under kF32 `out` may be the memory of the sums, x in front: row r of it ends at or before row r
// of the sums, and inside row 0 an element is written after it was read.
void gated_activation_target(int64_t rows, int64_t cols, Activation activation, const Products& x,
                             const float* bias, const Products& gate, const float* gate_bias,
                             const RowsBuffer& out) {
  const F32 d;
  with_activation(activation, [&](const auto& f) {
    with_products(x, [&](const auto& products) {
      const auto memory = [&](int64_t r) { return products.memory(r); };
      const std::decay_t<decltype(products)> gates{gate};
      for_rows(d, rows, cols, out, memory, [&](int64_t r, const auto& to) {
        const auto from = products.row(r, bias);
        const auto from_gate = gates.row(r, gate_bias);
        for_columns(d, static_cast<size_t>(cols), [&](auto access, size_t c) {
          const VF u = f(d, from.biased(d, access, c));
          to.put(d, access, hn::Mul(u, from_gate.biased(d, access, c)), c);
        });
      });
    });
  });
}

template <class F>
HWY_INLINE void map_values(int64_t n, const float* x, float* y, const F& f) {
  const F32 d;
  for_columns(d, static_cast<size_t>(n),
              [&](auto access, size_t c) { access.store(d, f(d, access.load(d, x + c)), y + c); });
}

void exp_values_target(int64_t n, const float* x, float* y) { map_values(n, x, y, Exp()); }
void tanh_values_target(int64_t n, const float* x, float* y) { map_values(n, x, y, Tanh()); }

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(bias_activation_target);
HWY_EXPORT(gated_activation_target);
HWY_EXPORT(exp_values_target);
HWY_EXPORT(tanh_values_target);

void bias_activation(int64_t rows, int64_t cols, Activation activation, const Products& x,
                     const float* bias, const RowsBuffer& out) noexcept {
  const ProfileScope scope({"bias_activation", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(bias_activation_target)(rows, cols, activation, x, bias, out);
}
void gated_activation(int64_t rows, int64_t cols, Activation activation, const Products& x,
                      const float* bias, const Products& gate, const float* gate_bias,
                      const RowsBuffer& out) noexcept {
  const ProfileScope scope({"gated_activation", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(gated_activation_target)
  (rows, cols, activation, x, bias, gate, gate_bias, out);
}
void exp_values(int64_t n, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(exp_values_target)(n, x, y);
}
void tanh_values(int64_t n, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(tanh_values_target)(n, x, y);
}

namespace {

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::kGelu},           {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},  {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},           {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},          {"tanh", Activation::kTanh},
    {"quick_gelu", Activation::kQuickGelu}};

}  // namespace

std::optional<Activation> activation_from_name(std::string_view name) {
  for (const NamedActivation& entry : kActivations) {
    if (entry.name == name) return entry.activation;
  }
  return std::nullopt;
}

std::string activation_names() {
  std::string names;
  for (const NamedActivation& entry : kActivations) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
