// act(x[r, c] + bias[c]) over the rows of a product, the same times a gate, both backwards, and exp
// and tanh on their own. Formulas: rowwise_activation-inl.h; how rows are read and written:
// rowwise_rows-inl.h. Numerics: gelu within 3e-7 of the exact value for |x| <= 8, for negative x
// within 7e-8 (8e-8 on targets without fused multiply-add, measured over all floats); gelu_tanh
// within 8e-7 for |x| <= 8; both within 2e-7 |x|; derivatives within 6e-7. Cost with AVX-512: GELU
// about 0.2 ns an element, 0.06 more from s32 sums, 0.1 more into bf16 or u8; backwards about 0.4
// ns.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "base/profile.h"
#include "kernels/rowwise_activation-inl.h"
#include "kernels/rowwise_backward.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

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

// Each column is read before it is written.
void activation_backward_target(int64_t rows, int64_t cols, Activation activation, const float* x,
                                const float* bias, const float* d_y, const RowsBuffer& y,
                                const RowsBuffer& d_a) {
  const F32 d;
  with_activation(activation, [&](const auto& f) {
    with_sinks(y, [&](const auto& values) {
      with_sinks(d_a, [&](const auto& slopes) {
        for (int64_t r = 0; r < rows; ++r) {
          const FloatRow from{x + r * cols, bias};
          const float* d_row = d_y + r * cols;
          const auto value = values.row(r);
          const auto slope = slopes.row(r);
          for_columns(d, static_cast<size_t>(cols), [=](auto access, size_t c) {
            const ValueAndSlope both = f.both(d, from.biased(d, access, c));
            const VF d_value = access.load(d, d_row + c);
            value.put(d, access, both.value, c);
            slope.put(d, access, hn::Mul(d_value, both.slope), c);
          });
        }
      });
    });
  });
}

void gated_activation_backward_target(int64_t rows, int64_t cols, Activation activation,
                                      const float* both, const float* both_bias, const float* d_y,
                                      const RowsBuffer& y, const RowsBuffer& d_both) {
  const F32 d;
  const auto n = static_cast<size_t>(cols);
  with_activation(activation, [&](const auto& f) {
    with_sinks(y, [&](const auto& values) {
      with_sinks(d_both, [&](const auto& slopes) {
        for (int64_t r = 0; r < rows; ++r) {
          const FloatRow from{both + 2 * r * cols, both_bias};
          const float* d_row = d_y + r * cols;
          const auto value = values.row(r);
          const auto slope = slopes.row(r);
          for_columns(d, n, [=](auto access, size_t c) {
            const ValueAndSlope act = f.both(d, from.biased(d, access, c));
            const VF gate = from.biased(d, access, n + c);
            const VF d_value = access.load(d, d_row + c);
            value.put(d, access, hn::Mul(act.value, gate), c);
            slope.put(d, access, hn::Mul(hn::Mul(d_value, gate), act.slope), c);
            slope.put(d, access, hn::Mul(d_value, act.value), n + c);
          });
        }
      });
    });
  });
}

struct Exp {
  HWY_INLINE VF operator()(F32 d, VF x) const { return exp_full(d, x); }
};

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
HWY_EXPORT(activation_backward_target);
HWY_EXPORT(gated_activation_backward_target);
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
void activation_backward(int64_t rows, int64_t cols, Activation activation, const float* x,
                         const float* bias, const float* d_y, const RowsBuffer& y,
                         const RowsBuffer& d_a) noexcept {
  const ProfileScope scope({"activation_backward", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(activation_backward_target)(rows, cols, activation, x, bias, d_y, y, d_a);
}
void gated_activation_backward(int64_t rows, int64_t cols, Activation activation, const float* both,
                               const float* both_bias, const float* d_y, const RowsBuffer& y,
                               const RowsBuffer& d_both) noexcept {
  const ProfileScope scope({"gated_activation_backward", {rows, cols}});
  HWY_DYNAMIC_DISPATCH(gated_activation_backward_target)
  (rows, cols, activation, both, both_bias, d_y, y, d_both);
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
