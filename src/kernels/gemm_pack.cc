// PackedMatrix: weights [out_features, in_features] into oneDNN's layout, as they are, rounded to
// bf16, or quantised. Numerics of kI8, for each output channel:
//   scale = max |w| / 127,  s8 = nearest(w / scale), ties to even
// so |w - s8 * scale| <= scale / 2 but for the rounding of the quotient. Cost: one or two passes
// over the weights.
#include "kernels/gemm_pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/profile.h"
#include "kernels/products.h"
#include "longformer/error.h"

namespace longformer::kernels {
namespace {

using dnnl::memory;

void check_sizes(DType type, int64_t out_features, int64_t in_features) {
  if (out_features < 1 || in_features < 1) {
    throw Error(ErrorCode::kInternal, "a weight matrix needs sizes of at least 1, got " +
                                          std::to_string(out_features) + " x " +
                                          std::to_string(in_features));
  }
  if (type == DType::kI8 && in_features > kMaxInt8Features) {
    throw Error(ErrorCode::kUnsupported, "int8 weights have at most " +
                                             std::to_string(kMaxInt8Features) +
                                             " input features, got " + std::to_string(in_features) +
                                             "; compute in bf16 or f32");
  }
  if (!supports(type)) {
    throw Error(ErrorCode::kInternal, "weights of type " + std::string(dtype_name(type)) +
                                          " cannot be multiplied on this processor");
  }
}

// How a source lies in memory.
enum class Order { kOutIn, kInOut };

std::shared_ptr<LinearAccess::Impl> reorder(DType type, const void* source, int64_t out_features,
                                            int64_t in_features, Order order = Order::kOutIn) {
  const ProfileScope scope({"pack weights", {out_features, in_features}, type_name(type)});
  const memory::desc layout = linear_weight_layout(type, out_features, in_features);
  auto impl = std::make_shared<LinearAccess::Impl>();
  ThreadState& thread = ThreadState::current();
  onednn::guarded("packing a weight matrix", [&] {
    const memory::dims strides =
        order == Order::kOutIn ? memory::dims{1, in_features} : memory::dims{out_features, 1};
    const memory::desc stored({in_features, out_features}, layout.data_type(), strides);
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

// Calls body(i) for each i below count, in blocks of a fixed size that the compiler vectorises.
template <typename Body>
void for_each_index(int64_t count, Body&& body) {
  constexpr int64_t kBlock = 16;
  int64_t start = 0;
  for (; start + kBlock <= count; start += kBlock) {
    for (int64_t i = 0; i < kBlock; ++i) body(start + i, i);
  }
  for (; start < count; ++start) body(start, 0);
}

// The largest magnitude of a channel; infinity or NaN if one is not finite. Magnitudes order as
// their bits do, NaN last.
float channel_extent(const float* values, int64_t count) {
  std::array<int32_t, 16> largest{};
  for_each_index(count, [&](int64_t i, int64_t lane) {
    const int32_t magnitude = std::bit_cast<int32_t>(values[i]) & 0x7FFFFFFF;
    largest[lane] = std::max(largest[lane], magnitude);
  });
  return std::bit_cast<float>(*std::max_element(largest.begin(), largest.end()));
}

// Adding and subtracting it leaves the nearest integer, ties to even, for what is below 2^22.
constexpr float kRounding = 0x1.8p23f;

void quantize_channel(const float* weight, int64_t count, int8_t* values, float& scale) {
  const float largest = channel_extent(weight, count);
  if (!std::isfinite(largest)) {
    // Everything that comes of this channel is NaN.
    scale = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(values, count, int8_t{0});
    return;
  }
  float step = largest == 0.0f ? 1.0f : largest / 127.0f;
  // Among subnormals the quotient may have rounded far down.
  while (double{largest} > 127.5 * step) {
    step = std::nextafter(step, std::numeric_limits<float>::infinity());
  }
  for_each_index(count, [=](int64_t i, int64_t) {
    const float steps = std::clamp(weight[i] / step, -127.0f, 127.0f);
    values[i] = static_cast<int8_t>(static_cast<int32_t>((steps + kRounding) - kRounding));
  });
  scale = step;
}

void round_weights(const float* weight, std::vector<uint16_t>& rounded) {
  const auto count = static_cast<int64_t>(rounded.size());
  const ProfileScope scope({"round weights", {count}});
  uint16_t* out = rounded.data();
  for_each_index(count, [=](int64_t i, int64_t) { out[i] = f32_to_bf16(weight[i]); });
}

// type: kF32 or kBF16.
std::shared_ptr<LinearAccess::Impl> pack_floats(DType type, const float* weight,
                                                int64_t out_features, int64_t in_features,
                                                Order order) {
  if (type == DType::kF32) return reorder(type, weight, out_features, in_features, order);
  std::vector<uint16_t> rounded(static_cast<size_t>(out_features * in_features));
  round_weights(weight, rounded);
  return reorder(type, rounded.data(), out_features, in_features, order);
}

}  // namespace

void quantize_weights(const float* weight, int64_t out_features, int64_t in_features,
                      int8_t* values, float* scales) {
  const ProfileScope scope({"quantize weights", {out_features, in_features}});
  for (int64_t channel = 0; channel < out_features; ++channel) {
    const int64_t start = channel * in_features;
    quantize_channel(weight + start, in_features, values + start, scales[channel]);
  }
}

PackedMatrix PackedMatrix::pack(const float* weight, int64_t out_features, int64_t in_features,
                                DType type) {
  check_sizes(type, out_features, in_features);
  if (type == DType::kI8) {
    std::vector<int8_t> values(static_cast<size_t>(out_features * in_features));
    std::vector<float> scales(static_cast<size_t>(out_features));
    quantize_weights(weight, out_features, in_features, values.data(), scales.data());
    return pack(values.data(), scales.data(), out_features, in_features);
  }
  return PackedMatrix(type, out_features, in_features,
                      pack_floats(type, weight, out_features, in_features, Order::kOutIn));
}

PackedMatrix PackedMatrix::pack_transposed(const float* weight, int64_t out_features,
                                           int64_t in_features, DType type) {
  if (type == DType::kI8) {
    throw Error(ErrorCode::kInternal, "transposed weights are F32 or BF16, not I8");
  }
  check_sizes(type, out_features, in_features);
  return PackedMatrix(type, in_features, out_features,
                      pack_floats(type, weight, in_features, out_features, Order::kInOut));
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

PackedMatrix PackedMatrix::planned(int64_t out_features, int64_t in_features, DType type) {
  check_sizes(type, out_features, in_features);
  return PackedMatrix(type, out_features, in_features, nullptr);
}

PackedMatrix::PackedMatrix(DType type, int64_t out_features, int64_t in_features,
                           std::shared_ptr<const Impl> impl)
    : type_(type), out_features_(out_features), in_features_(in_features), impl_(std::move(impl)) {}

size_t PackedMatrix::bytes() const noexcept { return impl_ == nullptr ? 0 : impl_->bytes; }

}  // namespace longformer::kernels
