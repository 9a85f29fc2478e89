// One strip of a running softmax on scores[rows, width], in place or rounded to bf16 beside them.
//   new_max = max(running_max, max of the counted scores), p = e^(score - new_max), 0 where not
//   counted, correction = e^(running_max - new_max), running_sum = running_sum * correction + sum
//   of p
// Counted: begin <= column < end, score above -infinity. p below e^-87 is 0. A NaN score makes the
// row's sum NaN, and so its output; other rows do not see it. The order of the sums is fixed by
// begin, end and width, so the bits depend on those and the scores alone. Cost: about 0.16 ns an
// element with AVX-512, 0.06 more into bf16; two passes over a row that lies in the first-level
// cache, three into bf16. Backwards, one pass over scores and d_p, about 0.16 ns an element:
//   p = e^(score - logsumexp),  d_p = p (d_p - delta), both 0 where not counted
// by selection, so that nothing that is not finite reaches a sum through a key that is not counted.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/profile.h"
#include "kernels/rowwise.h"
#include "kernels/rowwise_backward.h"
#include "kernels/rowwise_math-inl.h"
#include "kernels/rowwise_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// The vectors that hold the columns [begin, end) of a row, cut at multiples of a vector from column
// 0. Only the first and the last hold columns outside: those lanes read as -infinity.
struct Span {
  size_t begin, end, width, lanes;
  size_t first() const { return begin / lanes * lanes; }
  bool whole(size_t c) const { return c >= begin && c + lanes <= end; }
};

HWY_INLINE VF load_span(F32 d, const Span& span, const float* row, size_t c) {
  const VF v =
      c + span.lanes <= span.width ? hn::LoadU(d, row + c) : Part{span.width - c}.load(d, row + c);
  const size_t skip = span.begin > c ? span.begin - c : 0;
  const size_t stop = std::min(span.end - c, span.lanes);
  const auto counted = hn::AndNot(hn::FirstN(d, skip), hn::FirstN(d, stop));
  return hn::IfThenElse(counted, v, hn::Set(d, kMinusInfinity));
}

HWY_INLINE float span_max(F32 d, const Span& span, const float* row) {
  const VF low = hn::Set(d, kMinusInfinity);
  VF m0 = low, m1 = low, m2 = low, m3 = low;
  const size_t lanes = span.lanes;
  size_t c = span.first();
  // The first and the last vector need the mask; those between are whole.
  m0 = load_span(d, span, row, c);
  c += lanes;
  for (; c + 4 * lanes <= span.end; c += 4 * lanes) {
    m0 = hn::Max(hn::LoadU(d, row + c), m0);
    m1 = hn::Max(hn::LoadU(d, row + c + lanes), m1);
    m2 = hn::Max(hn::LoadU(d, row + c + 2 * lanes), m2);
    m3 = hn::Max(hn::LoadU(d, row + c + 3 * lanes), m3);
  }
  for (; c + lanes <= span.end; c += lanes) m0 = hn::Max(hn::LoadU(d, row + c), m0);
  if (c < span.end) m0 = hn::Max(load_span(d, span, row, c), m0);
  return max_lanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)));
}

// The vectors of the span become e^(score - maximum); returns their sum. Whole vectors go
// in pairs, each with a sum of its own.
HWY_INLINE float span_exp(F32 d, const Span& span, float* row, float maximum) {
  const VF top = hn::Set(d, maximum);
  const size_t lanes = span.lanes;
  VF sum0 = hn::Zero(d), sum1 = sum0;
  for (size_t c = span.first(); c < span.end;) {
    for (; span.whole(c) && span.whole(c + lanes); c += 2 * lanes) {
      const VF p0 = exp_negative(d, hn::Sub(hn::LoadU(d, row + c), top));
      const VF p1 = exp_negative(d, hn::Sub(hn::LoadU(d, row + c + lanes), top));
      sum0 = hn::Add(sum0, p0);
      sum1 = hn::Add(sum1, p1);
      hn::StoreU(p0, d, row + c);
      hn::StoreU(p1, d, row + c + lanes);
    }
    if (c >= span.end) break;
    // Cut at one end or both, or the last of an odd number.
    const VF p = exp_negative(d, hn::Sub(load_span(d, span, row, c), top));
    sum0 = hn::Add(sum0, p);
    if (c + lanes <= span.width) {
      hn::StoreU(p, d, row + c);
    } else {
      Part{span.width - c}.store(d, p, row + c);
    }
    c += lanes;
  }
  return sum_lanes(d, hn::Add(sum0, sum1));
}

bool any_nan(const float* begin, const float* end) {
  return std::any_of(begin, end, [](float score) { return std::isnan(score); });
}

HWY_INLINE void softmax_row(F32 d, const Span& span, float* row, float& running_max,
                            float& running_sum, float& correction) {
  correction = 1.0f;
  float strip_max = kMinusInfinity;
  if (span.begin < span.end) strip_max = span_max(d, span, row);
  if (strip_max == kMinusInfinity) {
    // Nothing counted, unless NaN hid behind the maximum.
    if (span.begin < span.end && any_nan(row + span.begin, row + span.end)) {
      running_sum = std::numeric_limits<float>::quiet_NaN();
    }
    std::fill(row, row + span.width, 0.0f);
    return;
  }
  const float maximum = running_max > strip_max ? running_max : strip_max;
  if (running_max != kMinusInfinity) {
    correction = hn::GetLane(exp_negative(d, hn::Set(d, running_max - maximum)));
  }
  const size_t written_end =
      std::min(span.width, (span.end + span.lanes - 1) / span.lanes * span.lanes);
  std::fill(row, row + span.first(), 0.0f);
  const float sum = span_exp(d, span, row, maximum);
  std::fill(row + written_end, row + span.width, 0.0f);
  running_sum =
      hn::GetLane(hn::MulAdd(hn::Set(d, running_sum), hn::Set(d, correction), hn::Set(d, sum)));
  running_max = maximum;
}

// Calls after(r, row) when row r has become probabilities.
template <class After>
HWY_INLINE void softmax_rows(F32 d, int64_t rows, int64_t width, const int32_t* begin,
                             const int32_t* end, float* scores, float* running_max,
                             float* running_sum, float* correction, const After& after) {
  for (int64_t r = 0; r < rows; ++r, scores += width) {
    const int64_t first = std::clamp<int64_t>(begin[r], 0, width);
    const int64_t last = std::clamp<int64_t>(end[r], first, width);
    const Span span{static_cast<size_t>(first), static_cast<size_t>(last),
                    static_cast<size_t>(width), hn::Lanes(d)};
    softmax_row(d, span, scores, running_max[r], running_sum[r], correction[r]);
    after(r, scores);
  }
}

void softmax_f32_target(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                        float* scores, float* running_max, float* running_sum, float* correction) {
  softmax_rows(F32(), rows, width, begin, end, scores, running_max, running_sum, correction,
               [](int64_t, const float*) {});
}

// Rounded in a pass of its own: inside the loop over e^x it would cost more, for want of registers.
void softmax_bf16_target(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                         float* scores, float* running_max, float* running_sum, float* correction,
                         BFloat16* probabilities) {
  const F32 d;
  softmax_rows(d, rows, width, begin, end, scores, running_max, running_sum, correction,
               [&](int64_t r, const float* row) {
                 const BFloat16Sink to{probabilities + r * width};
                 for_columns(d, static_cast<size_t>(width), [&](auto access, size_t c) {
                   to.put(d, access, access.load(d, row + c), c);
                 });
               });
}

// Scores and d_p of one row on their way to p and p (d_p - delta).
struct BackwardRow {
  VF logsumexp;
  VF delta;
  float* scores;
  float* d_p;
  template <class Access>
  HWY_INLINE void apply(F32 d, Access access, VF score, size_t c) const {
    const VF p = exp_negative(d, hn::Sub(score, logsumexp));
    const VF slope = hn::Mul(p, hn::Sub(access.load(d, d_p + c), delta));
    access.store(d, p, scores + c);
    access.store(d, hn::IfThenZeroElse(hn::Eq(p, hn::Zero(d)), slope), d_p + c);
  }
};

HWY_INLINE void softmax_row_backward(F32 d, const Span& span, const BackwardRow& row) {
  const size_t lanes = span.lanes;
  const size_t end = std::min(span.width, (span.end + lanes - 1) / lanes * lanes);
  for (float* values : {row.scores, row.d_p}) {
    std::fill(values, values + span.first(), 0.0f);
    std::fill(values + end, values + span.width, 0.0f);
  }
  for (size_t c = span.first(); c < span.end; c += lanes) {
    if (span.whole(c)) {
      row.apply(d, Whole(), hn::LoadU(d, row.scores + c), c);
      continue;
    }
    const VF score = load_span(d, span, row.scores, c);
    if (c + lanes <= span.width) {
      row.apply(d, Whole(), score, c);
    } else {
      row.apply(d, Part{span.width - c}, score, c);
    }
  }
}

void softmax_backward_target(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                             const float* logsumexp, const float* delta, float* scores,
                             float* d_p) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, scores += width, d_p += width) {
    const int64_t first = std::clamp<int64_t>(begin[r], 0, width);
    const int64_t last = std::clamp<int64_t>(end[r], first, width);
    if (first == last || logsumexp[r] == kMinusInfinity) {
      std::fill(scores, scores + width, 0.0f);
      std::fill(d_p, d_p + width, 0.0f);
      continue;
    }
    const Span span{static_cast<size_t>(first), static_cast<size_t>(last),
                    static_cast<size_t>(width), hn::Lanes(d)};
    softmax_row_backward(d, span, {hn::Set(d, logsumexp[r]), hn::Set(d, delta[r]), scores, d_p});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(softmax_f32_target);
HWY_EXPORT(softmax_bf16_target);
HWY_EXPORT(softmax_backward_target);

void softmax_strip(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                   float* scores, float* running_max, float* running_sum,
                   float* correction) noexcept {
  const ProfileScope scope({"softmax_strip", {rows, width}});
  HWY_DYNAMIC_DISPATCH(softmax_f32_target)
  (rows, width, begin, end, scores, running_max, running_sum, correction);
}
void softmax_strip(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                   float* scores, float* running_max, float* running_sum, float* correction,
                   BFloat16* probabilities) noexcept {
  const ProfileScope scope({"softmax_strip", {rows, width}});
  HWY_DYNAMIC_DISPATCH(softmax_bf16_target)
  (rows, width, begin, end, scores, running_max, running_sum, correction, probabilities);
}

void softmax_strip_backward(int64_t rows, int64_t width, const int32_t* begin, const int32_t* end,
                            const float* logsumexp, const float* delta, float* scores,
                            float* d_p) noexcept {
  const ProfileScope scope({"softmax_strip_backward", {rows, width}});
  HWY_DYNAMIC_DISPATCH(softmax_backward_target)
  (rows, width, begin, end, logsumexp, delta, scores, d_p);
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
