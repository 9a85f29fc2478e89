// x[r, c] = act(x[r, c] + bias[c]) over dense rows, the same with a gate beside it, and exp, erf,
// tanh on their own.
//   gelu       x Phi(x): 0.5 x (1 + erf(x / sqrt 2)), the lower half from erfc so that nothing
//   cancels gelu_tanh  0.5 x (1 + tanh(u)) = x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
//   silu       x / (1 + e^(-x));  quick_gelu  x / (1 + e^(-1.702 x));  relu  max(x, 0), NaN kept
// Numerics: gelu and gelu_tanh within 5e-7 of the exact value for |x| <= 8 and within 1.2e-7 |x|
// beyond. Cost: GELU about 0.4 ns an element with AVX-512.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/rowwise.h"
#include "kernels/rowwise_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

struct Gelu {
  HWY_INLINE VF operator()(F32 d, VF x) const {
    const VF z = hn::Mul(x, hn::Set(d, 0.70710678118654752f));
    const VF t = hn::Abs(z);
    const VF half = hn::Set(d, 0.5f);
    // upper = Phi(-|x|)
    const VF near = hn::NegMulAdd(half, erf_small(d, t), half);
    const VF far = hn::Mul(half, erfc_tail(d, t));
    const VF upper = hn::IfThenElse(hn::Gt(t, hn::Set(d, kErfSplit)), far, near);
    const VF phi = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), upper), upper);
    return hn::Mul(x, phi);
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
struct Erf {
  HWY_INLINE VF operator()(F32 d, VF x) const { return erf_any(d, x); }
};

template <class F>
HWY_INLINE void apply_rows(int64_t rows, int64_t cols, const float* bias, float* x, const F& f) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    for_columns(
        d, static_cast<size_t>(cols),
        [&](size_t c) {
          hn::StoreU(f(d, hn::Add(hn::LoadU(d, x + c), hn::LoadU(d, bias + c))), d, x + c);
        },
        [&](size_t c, size_t n) {
          store_tail(d, f(d, hn::Add(load_tail(d, x + c, n), load_tail(d, bias + c, n))), x + c, n);
        });
  }
}

// y may be x: row r of y ends at or before row r of x, and inside row 0 an element is written after
// it was read.
template <class F>
HWY_INLINE void gate_rows(int64_t rows, int64_t cols, const float* bias, const float* x, float* y,
                          const F& f) {
  const F32 d;
  const float* gate_bias = bias + cols;
  for (int64_t r = 0; r < rows; ++r, x += 2 * cols, y += cols) {
    const float* gate = x + cols;
    for_columns(
        d, static_cast<size_t>(cols),
        [&](size_t c) {
          const VF u = f(d, hn::Add(hn::LoadU(d, x + c), hn::LoadU(d, bias + c)));
          const VF g = hn::Add(hn::LoadU(d, gate + c), hn::LoadU(d, gate_bias + c));
          hn::StoreU(hn::Mul(u, g), d, y + c);
        },
        [&](size_t c, size_t n) {
          const VF u = f(d, hn::Add(load_tail(d, x + c, n), load_tail(d, bias + c, n)));
          const VF g = hn::Add(load_tail(d, gate + c, n), load_tail(d, gate_bias + c, n));
          store_tail(d, hn::Mul(u, g), y + c, n);
        });
  }
}

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

void bias_activation_target(int64_t rows, int64_t cols, Activation activation, const float* bias,
                            float* x) {
  with_activation(activation, [&](const auto& f) { apply_rows(rows, cols, bias, x, f); });
}

void gated_activation_target(int64_t rows, int64_t cols, Activation activation, const float* bias,
                             const float* x, float* y) {
  with_activation(activation, [&](const auto& f) { gate_rows(rows, cols, bias, x, y, f); });
}

template <class F>
HWY_INLINE void map_values(int64_t n, const float* x, float* y, const F& f) {
  const F32 d;
  for_columns(
      d, static_cast<size_t>(n), [&](size_t c) { hn::StoreU(f(d, hn::LoadU(d, x + c)), d, y + c); },
      [&](size_t c, size_t count) {
        store_tail(d, f(d, load_tail(d, x + c, count)), y + c, count);
      });
}

void exp_values_target(int64_t n, const float* x, float* y) { map_values(n, x, y, Exp()); }
void erf_values_target(int64_t n, const float* x, float* y) { map_values(n, x, y, Erf()); }
void tanh_values_target(int64_t n, const float* x, float* y) { map_values(n, x, y, Tanh()); }

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(bias_activation_target);
HWY_EXPORT(gated_activation_target);
HWY_EXPORT(exp_values_target);
HWY_EXPORT(erf_values_target);
HWY_EXPORT(tanh_values_target);

void bias_activation(int64_t rows, int64_t cols, Activation activation, const float* bias,
                     float* x) noexcept {
  HWY_DYNAMIC_DISPATCH(bias_activation_target)(rows, cols, activation, bias, x);
}
void gated_activation(int64_t rows, int64_t cols, Activation activation, const float* bias,
                      const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(gated_activation_target)(rows, cols, activation, bias, x, y);
}
void exp_values(int64_t n, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(exp_values_target)(n, x, y);
}
void erf_values(int64_t n, const float* x, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(erf_values_target)(n, x, y);
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
