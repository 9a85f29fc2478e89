// Row-wise epilogues and softmax strips, over Highway with run-time dispatch. rowwise_*.cc are the
// only files that see it. All matrices are dense row-major f32 unless a stride is named; each
// function treats rows independently, in a fixed order of operations, so a row's bits depend on
// that row alone. noexcept: callers check sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operands.h"

namespace longformer::kernels {

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu, kTanh, kQuickGelu };
// Names as configs write them: gelu | gelu_new, gelu_pytorch_tanh, gelu_fast | relu | silu, swish |
// tanh | quick_gelu.
std::optional<Activation> activation_from_name(std::string_view name);
std::string activation_names();  // all of them, for messages

// Rows on their way into a product: x[rows, cols] in the type of `out`. kF32 copies (out.data may
// be x), kBF16 rounds to nearest even, kU8 takes the nearest of 256 steps between the smallest and
// the largest value of the row, 0 included: scale = (max - min) / 255 (1 where that is no normal
// number, as for a row of zeros), zero in 0 … 255, so that 0 is exact. Not finite, or max - min
// not: the row's scale is NaN, and so is what comes of it.
void to_rows(int64_t rows, int64_t cols, const float* x, const RowsBuffer& out) noexcept;

// out[r, c] = act(x[r, c] + bias[c]), converted as to_rows() does. For kU8 the sums of x are
// overwritten with the f32 values on the way; for kF32 out.data may be the memory of the sums.
void bias_activation(int64_t rows, int64_t cols, Activation activation, const Products& x,
                     const float* bias, const RowsBuffer& out) noexcept;

// out[r, c] = act(x[r, c] + bias[c]) * (gate[r, c] + gate_bias[c]), likewise. Where x and gate are
// the two halves of one product, out.data may be its memory under kF32.
void gated_activation(int64_t rows, int64_t cols, Activation activation, const Products& x,
                      const float* bias, const Products& gate, const float* gate_bias,
                      const RowsBuffer& out) noexcept;

// y[r] = LayerNorm(x[r]) * gamma + beta; biased variance, eps inside the root. y may be x.
void layer_norm(int64_t rows, int64_t cols, const float* x, const float* gamma, const float* beta,
                float eps, float* y) noexcept;

// y[r] = LayerNorm((x[r] + bias) + residual[r]) * gamma + beta; residual and y dense. y may be
// residual, or the memory of x's sums where that is dense.
void bias_residual_layer_norm(int64_t rows, int64_t cols, const Products& x, const float* bias,
                              const float* residual, const float* gamma, const float* beta,
                              float eps, float* y) noexcept;

// y[r * stride + c] = (x[r, c] + bias[c]) + residual[r * stride + c]. y may be residual. With
// layer_norm() behind it, the bits of bias_residual_layer_norm().
void bias_residual(int64_t rows, int64_t cols, const Products& x, const float* bias,
                   const float* residual, int64_t stride, float* y) noexcept;

// y = (word + position) + type, one row of each; then LayerNorm. y has cols elements.
void embedding_layer_norm(int64_t cols, const float* word, const float* position, const float* type,
                          const float* gamma, const float* beta, float eps, float* y) noexcept;

// Where split_heads() puts rows, and with what.
struct HeadSplit {
  int64_t head_dim = 0;
  int64_t first_head = 0;          // of the model: the one that column 0 of x begins
  std::span<const int32_t> heads;  // of the model: those that are written
  const float* bias = nullptr;     // [columns of x]
  float scale = 1.0f;
  const uint8_t* keep = nullptr;         // [rows]; null: all
  const int32_t* destination = nullptr;  // [rows]
  int64_t first_destination = 0;         // what row 0 of a plane is called in `destination`
  int64_t plane_rows = 0;
  // [rows, head_dim / 2] (head_dim even), or null: the angles by which channels c and
  // c + head_dim / 2 of a head are turned. With a, b = (x + bias) * scale of the two channels:
  //   a cos - b sin  and  b cos + a sin
  const float* cosines = nullptr;
  const float* sines = nullptr;
};

// For each row r and head h of split.heads, with o = (h - first_head) * head_dim:
//   out[(h * plane_rows + destination[r] - first_destination) * head_dim + c] = (x[r, o + c] +
//   bias[o + c]) * scale,
// turned where there are angles, or zeros where keep[r] == 0. BFloat16: to nearest even.
void split_heads(int64_t rows, const Products& x, const HeadSplit& split, float* out) noexcept;
void split_heads(int64_t rows, const Products& x, const HeadSplit& split, BFloat16* out) noexcept;

// One strip of a running softmax. scores[rows, width] becomes exp(score - max) in place, zero
// outside [begin[r], end[r]) and where a score is -infinity. running_max[r] (start: -infinity) and
// running_sum[r] (start: 0) are carried from strip to strip; correction[r] = exp(old max - new max)
// is what earlier partial outputs must be multiplied by (1 for a row that has seen nothing yet). A
// row that sees nothing leaves zeros, its max and its sum unchanged.
void softmax_strip(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                   float* scores, float* running_max, float* running_sum,
                   float* correction) noexcept;
// The same with the probabilities rounded to bf16 into `probabilities` [rows, width]; scores are
// used up. The sums are those of the unrounded values.
void softmax_strip(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                   float* scores, float* running_max, float* running_sum, float* correction,
                   BFloat16* probabilities) noexcept;

// x[r, :] *= factors[r]
void scale_rows(int64_t rows, int64_t cols, const float* factors, float* x) noexcept;
// y[r * y_stride + c] = x[r, c] / sums[r], zeros where sums[r] == 0.
void normalize_rows(int64_t rows, int64_t cols, const float* x, const float* sums, int64_t y_stride,
                    float* y) noexcept;

// y[c] += a * x[c]
void add_scaled(int64_t cols, float a, const float* x, float* y) noexcept;
float dot(int64_t cols, const float* x, const float* y) noexcept;

// Elementwise exp and tanh as the kernels above compute them, for tests. n elements.
void exp_values(int64_t n, const float* x, float* y) noexcept;
void tanh_values(int64_t n, const float* x, float* y) noexcept;

// SIMD targets within the limit, e.g. {"AVX3_ZEN4", "AVX2", "SSE4"}; the first is used. Not while
// kernels run.
std::vector<std::string> supported_targets();
std::string current_target();  // the one that a kernel called now would run on
// Limits the SIMD targets of this process to `name` or slower; unknown names are refused with
// false. A later call replaces the limit. Not while kernels run.
bool limit_target(std::string_view name);

}  // namespace longformer::kernels
