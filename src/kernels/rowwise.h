// Row-wise epilogues and softmax strips, over Highway with run-time dispatch. rowwise_*.cc are the
// only files that see it. All matrices are dense row-major f32 unless a stride is named; each
// function treats rows independently, in a fixed order of operations, so a row's bits depend on
// that row alone. noexcept: callers check sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::kernels {

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu, kTanh, kQuickGelu };
// Names as configs write them: gelu | gelu_new, gelu_pytorch_tanh, gelu_fast | relu | silu, swish |
// tanh | quick_gelu.
std::optional<Activation> activation_from_name(std::string_view name);
std::string activation_names();  // all of them, for messages

// x[r, c] = act(x[r, c] + bias[c])
void bias_activation(int64_t rows, int64_t cols, Activation activation, const float* bias,
                     float* x) noexcept;

// y[r, c] = act(x[r, c] + bias[c]) * (x[r, cols + c] + bias[cols + c]) for x[rows, 2 * cols] and
// y[rows, cols]: the first half of a row is activated, the second multiplies. y may be x.
void gated_activation(int64_t rows, int64_t cols, Activation activation, const float* bias,
                      const float* x, float* y) noexcept;

// y[r] = LayerNorm(x[r]) * gamma + beta; biased variance, eps inside the root. y may be x.
void layer_norm(int64_t rows, int64_t cols, const float* x, const float* gamma, const float* beta,
                float eps, float* y) noexcept;

// y[r] = LayerNorm(x[r] + bias + residual[r]) * gamma + beta. y may be x or residual.
void bias_residual_layer_norm(int64_t rows, int64_t cols, const float* x, const float* bias,
                              const float* residual, const float* gamma, const float* beta,
                              float eps, float* y) noexcept;

// y[r] = (x[r] + bias) + residual[r]. y may be x or residual.
void bias_residual(int64_t rows, int64_t cols, const float* x, const float* bias,
                   const float* residual, float* y) noexcept;

// y = (word + position) + type, one row of each; then LayerNorm. y has cols elements.
void embedding_layer_norm(int64_t cols, const float* word, const float* position, const float* type,
                          const float* gamma, const float* beta, float eps, float* y) noexcept;

// Splits x[rows, heads * head_dim] into heads: for each row r and head h of `head_list`,
//   out[(h * plane_rows + destination[r]) * head_dim + c] = (x[r, h * head_dim + c] + bias[h *
//   head_dim + c]) * scale,
// or zeros where keep is given and keep[r] == 0.
void split_heads(int64_t rows, int64_t heads, int64_t head_dim, const int32_t* head_list,
                 int64_t head_count, const float* x, const float* bias, float scale,
                 const uint8_t* keep, const int32_t* destination, int64_t plane_rows,
                 float* out) noexcept;

// One strip of a running softmax. scores[rows, width] becomes exp(score - max) in place, zero
// outside [begin[r], end[r]) and where a score is -infinity. running_max[r] (start: -infinity) and
// running_sum[r] (start: 0) are carried from strip to strip; correction[r] = exp(old max - new max)
// is what earlier partial outputs must be multiplied by (1 for a row that has seen nothing yet). A
// row that sees nothing leaves zeros, its max and its sum unchanged.
void softmax_strip(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                   float* scores, float* running_max, float* running_sum,
                   float* correction) noexcept;

// x[r, :] *= factors[r]
void scale_rows(int64_t rows, int64_t cols, const float* factors, float* x) noexcept;
// y[r * y_stride + c] = x[r, c] / sums[r], zeros where sums[r] == 0.
void normalize_rows(int64_t rows, int64_t cols, const float* x, const float* sums, int64_t y_stride,
                    float* y) noexcept;

// y[c] += a * x[c]
void add_scaled(int64_t cols, float a, const float* x, float* y) noexcept;
float dot(int64_t cols, const float* x, const float* y) noexcept;

// Elementwise exp, erf and tanh as the kernels above compute them, for tests. n elements.
void exp_values(int64_t n, const float* x, float* y) noexcept;
void erf_values(int64_t n, const float* x, float* y) noexcept;
void tanh_values(int64_t n, const float* x, float* y) noexcept;

std::vector<std::string>
supported_targets();  // e.g. {"AVX3_ZEN4", "AVX2", "SSE4"}; the first is used
// Limits the SIMD targets of this process to `name` or slower; unknown names are refused with
// false. A later call replaces the limit. Not while kernels run.
bool limit_target(std::string_view name);

}  // namespace longformer::kernels
