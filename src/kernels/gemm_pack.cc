// PackedMatrix: weights [out_features, in_features] into oneDNN's layout, as they are, rounded to
// bf16, or quantised. Numerics of kI8, for each output channel:
//   scale = max |w| / 127,  s8 = nearest(w / scale), ties to even
// so |w - s8 * scale| <= scale / 2 but for the rounding of the quotient. Cost: one or two passes
// over the weights.
#include "kernels/gemm_pack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

using dnnl::memory;

void check_sizes(DType type, int64_t out_features, int64_t in_features) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::kInternal, "a weight matrix " + what + ", got " +
                                          std::to_string(out_features) + " x " +
                                          std::to_string(in_features));
  };
  if (out_features < 1 || in_features < 1) fail("needs sizes of at least 1");
  if (type == DType::kI8 && in_features > kMaxInt8Features) {
    fail("of type I8 has at most " + std::to_string(kMaxInt8Features) + " input features");
  }
  if (!supports(type)) {
    throw Error(ErrorCode::kInternal, "weights of type " + std::string(dtype_name(type)) +
                                          " cannot be multiplied on this processor");
  }
}

// source: [out_features, in_features] of that type.
std::shared_ptr<LinearAccess::Impl> reorder(DType type, const void* source, int64_t out_features,
                                            int64_t in_features) {
  const memory::desc layout = linear_weight_layout(type, out_features, in_features);
  auto impl = std::make_shared<LinearAccess::Impl>();
  ThreadState& thread = ThreadState::current();
  onednn::guarded("packing a weight matrix", [&] {
    const memory::desc stored({in_features, out_features}, layout.data_type(),
                              memory::dims{1, in_features});
    memory from(stored, cpu_engine(), const_cast<void*>(source));
    impl->memory = memory(layout, cpu_engine());
    auto making = lock_creation();
    dnnl::reorder pack(from, impl->memory);
    making.unlock();
    pack.execute(thread.stream(), from, impl->memory);
    thread.stream().wait();
  });
  impl->layout = onednn::Layout(layout);
  impl->bytes = layout.get_size();
  return impl;
}

// The largest magnitude of a channel, NaN if a value is not finite.
float channel_extent(const float* values, int64_t count) {
  float largest = 0.0f;
  float poison = 0.0f;  // 0 * inf and 0 * NaN are NaN
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
    poison += values[i] * 0.0f;
  }
  return largest + poison;
}

// Adding and subtracting it leaves the nearest integer, ties to even, for what is below 2^22.
constexpr float kRounding = 0x1.8p23f;

void quantize_channel(const float* weight, int64_t count, int8_t* values, float& scale) {
  const float largest = channel_extent(weight, count);
  if (std::isnan(largest)) {
    // Not a number of ours: everything that comes of this channel is NaN.
    scale = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(values, count, int8_t{0});
    return;
  }
  scale = largest == 0.0f ? 1.0f : largest / 127.0f;
  // Among subnormals the quotient may have rounded far down.
  while (double{largest} > 127.5 * scale) {
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  }
  for (int64_t i = 0; i < count; ++i) {
    const float steps = std::clamp(weight[i] / scale, -127.0f, 127.0f);
    values[i] = static_cast<int8_t>(static_cast<int32_t>((steps + kRounding) - kRounding));
  }
}

}  // namespace

void quantize_weights(const float* weight, int64_t out_features, int64_t in_features,
                      int8_t* values, float* scales) {
  for (int64_t channel = 0; channel < out_features; ++channel) {
    const int64_t start = channel * in_features;
    quantize_channel(weight + start, in_features, values + start, scales[channel]);
  }
}

PackedMatrix PackedMatrix::pack(const float* weight, int64_t out_features, int64_t in_features,
                                DType type) {
  check_sizes(type, out_features, in_features);
  const auto count = static_cast<size_t>(out_features * in_features);
  if (type == DType::kI8) {
    std::vector<int8_t> values(count);
    std::vector<float> scales(static_cast<size_t>(out_features));
    quantize_weights(weight, out_features, in_features, values.data(), scales.data());
    return pack(values.data(), scales.data(), out_features, in_features);
  }
  if (type == DType::kBF16) {
    std::vector<uint16_t> rounded(count);
    std::transform(weight, weight + count, rounded.begin(), f32_to_bf16);
    return PackedMatrix(type, out_features, in_features,
                        reorder(type, rounded.data(), out_features, in_features));
  }
  return PackedMatrix(type, out_features, in_features,
                      reorder(type, weight, out_features, in_features));
}

PackedMatrix PackedMatrix::pack(const int8_t* weight, const float* scales, int64_t out_features,
                                int64_t in_features) {
  check_sizes(DType::kI8, out_features, in_features);
  auto impl = reorder(DType::kI8, weight, out_features, in_features);
  impl->scales.assign(scales, scales + out_features);
  for (int64_t channel = 0; channel < out_features; ++channel) {
    const int8_t* values = weight + channel * in_features;
    impl->sums.push_back(std::accumulate(values, values + in_features, int32_t{0}));
  }
  impl->bytes += impl->scales.size() * (sizeof(float) + sizeof(int32_t));
  return PackedMatrix(DType::kI8, out_features, in_features, std::move(impl));
}

PackedMatrix::PackedMatrix(DType type, int64_t out_features, int64_t in_features,
                           std::shared_ptr<const Impl> impl)
    : type_(type), out_features_(out_features), in_features_(in_features), impl_(std::move(impl)) {}

size_t PackedMatrix::bytes() const noexcept { return impl_ == nullptr ? 0 : impl_->bytes; }

}  // namespace longformer::kernels
