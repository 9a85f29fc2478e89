// Rows against one query. Four accumulators hide the latency of the products; columns behind the
// last whole vector are added one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan.cc"
#include "kernels/scan.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ScanF32 = hn::ScalableTag<float>;
using ScanI16 = hn::ScalableTag<int16_t>;

// sum of load(c) * query[c .. c + lanes) over the whole vectors of a row, then one(c) each.
template <class Load, class One>
HWY_INLINE float float_row(size_t cols, const float* query, Load&& load, One&& one) {
  const ScanF32 d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t c = 0;
  for (; c + 4 * lanes <= cols; c += 4 * lanes) {
    s0 = hn::MulAdd(load(c), hn::LoadU(d, query + c), s0);
    s1 = hn::MulAdd(load(c + lanes), hn::LoadU(d, query + c + lanes), s1);
    s2 = hn::MulAdd(load(c + 2 * lanes), hn::LoadU(d, query + c + 2 * lanes), s2);
    s3 = hn::MulAdd(load(c + 3 * lanes), hn::LoadU(d, query + c + 3 * lanes), s3);
  }
  for (; c + lanes <= cols; c += lanes) s0 = hn::MulAdd(load(c), hn::LoadU(d, query + c), s0);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; c < cols; ++c) sum += one(c) * query[c];
  return sum;
}

void scan_f32_target(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
                     const float* query, float* out) {
  const ScanF32 d;
  for (int64_t r = 0; r < rows; ++r, table += stride) {
    const float* row = reinterpret_cast<const float*>(table);
    out[r] = float_row(
        static_cast<size_t>(cols), query, [&](size_t c) { return hn::LoadU(d, row + c); },
        [&](size_t c) {
          float value;
          std::memcpy(&value, row + c, sizeof value);
          return value;
        });
  }
}

void scan_f16_target(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
                     const float* query, float* out) {
  const ScanF32 d;
  const hn::Rebind<hwy::float16_t, ScanF32> d16;
  for (int64_t r = 0; r < rows; ++r, table += stride) {
    const auto* row = reinterpret_cast<const hwy::float16_t*>(table);
    out[r] = float_row(
        static_cast<size_t>(cols), query,
        [&](size_t c) { return hn::PromoteTo(d, hn::LoadU(d16, row + c)); },
        [&](size_t c) {
          uint16_t half;
          std::memcpy(&half, row + c, sizeof half);
          return f16_to_f32(half);
        });
  }
}

void scan_int8_target(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
                      const int16_t* query, float query_scale, float* out) {
  const ScanI16 d16;
  const hn::Rebind<int8_t, ScanI16> d8;
  const hn::RepartitionToWide<ScanI16> d32;
  const size_t lanes = hn::Lanes(d16);
  const size_t n = static_cast<size_t>(cols);
  for (int64_t r = 0; r < rows; ++r, table += stride) {
    const auto* row = reinterpret_cast<const int8_t*>(table + sizeof(float));
    auto s0 = hn::Zero(d32), s1 = s0, odd = s0;
    const auto step = [&](size_t c, auto sum) {
      return hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::LoadU(d8, row + c)),
                                           hn::LoadU(d16, query + c), sum, odd);
    };
    size_t c = 0;
    for (; c + 2 * lanes <= n; c += 2 * lanes) {
      s0 = step(c, s0);
      s1 = step(c + lanes, s1);
    }
    for (; c + lanes <= n; c += lanes) s0 = step(c, s0);
    // Some targets gather the odd products apart.
    int32_t sum = hn::GetLane(hn::SumOfLanes(d32, hn::Add(hn::Add(s0, s1), odd)));
    for (; c < n; ++c) sum += int32_t{row[c]} * int32_t{query[c]};
    float scale;
    std::memcpy(&scale, table, sizeof scale);
    out[r] = static_cast<float>(sum) * scale * query_scale;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(scan_f32_target);
HWY_EXPORT(scan_f16_target);
HWY_EXPORT(scan_int8_target);

void scan_f32(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
              const float* query, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(scan_f32_target)(rows, cols, table, stride, query, out);
}

void scan_f16(int64_t rows, int64_t cols, const std::byte* table, int64_t stride,
              const float* query, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(scan_f16_target)(rows, cols, table, stride, query, out);
}

IntegerQuery quantize_query(std::span<const float> query) {
  constexpr int64_t kLargestSum = INT32_MAX;
  const int64_t limit =
      std::min<int64_t>(INT16_MAX, kLargestSum / (128 * static_cast<int64_t>(query.size())));
  double largest = 0;
  for (const float value : query) largest = std::max(largest, std::abs(static_cast<double>(value)));
  IntegerQuery result;
  result.values.assign(query.size(), 0);
  if (largest == 0) return result;
  const double factor = static_cast<double>(limit) / largest;
  for (size_t i = 0; i < query.size(); ++i) {
    result.values[i] = static_cast<int16_t>(std::nearbyint(static_cast<double>(query[i]) * factor));
  }
  result.scale = static_cast<float>(1.0 / factor);
  return result;
}

void scan_int8(int64_t rows, const std::byte* table, int64_t stride, const IntegerQuery& query,
               float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(scan_int8_target)
  (rows, static_cast<int64_t>(query.values.size()), table, stride, query.values.data(), query.scale,
   out);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
