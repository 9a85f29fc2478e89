#include "tasks/span_decoding.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "longformer/error.h"
#include "tasks/softmax.h"

namespace longformer::tasks {
namespace {

constexpr double kMaskedLogit = -10000;

bool better(const TokenSpan& a, const TokenSpan& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.first != b.first ? a.first < b.first : a.last < b.last;
}

// The largest value of each range [i, i + size) that a sequence has.
std::vector<double> sliding_max(std::span<const double> values, size_t size) {
  std::vector<double> largest(values.size());
  std::deque<size_t> falling;  // positions whose values fall, all in the range
  for (size_t i = values.size(); i-- > 0;) {
    while (!falling.empty() && values[falling.back()] <= values[i]) falling.pop_back();
    falling.push_back(i);
    if (falling.front() - i >= size) falling.pop_front();
    largest[i] = values[falling.front()];
  }
  return largest;
}

}  // namespace

std::vector<double> span_probabilities(std::span<const float> logits,
                                       std::span<const uint8_t> counted) {
  std::vector<double> values(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (counted[i] != 0 && !std::isfinite(logits[i])) {
      throw Error(ErrorCode::kInvalidFile,
                  "the model gives a logit that is no finite number; its weights are damaged, or "
                  "too large for this arithmetic: try --compute f32");
    }
    values[i] = counted[i] != 0 ? static_cast<double>(logits[i]) : kMaskedLogit;
  }
  return softmax(std::move(values));
}

std::vector<TokenSpan> best_spans(std::span<const double> starts, std::span<const double> ends,
                                  int64_t max_length, size_t count) {
  const size_t tokens = starts.size();
  const size_t longest =
      static_cast<size_t>(std::clamp(max_length, int64_t{0}, static_cast<int64_t>(tokens)));
  if (longest == 0 || count == 0) return {};
  std::vector<TokenSpan> order;  // of each start its best score
  const std::vector<double> best_end = sliding_max(ends, longest);
  for (size_t i = 0; i < tokens; ++i) {
    const double score = starts[i] * best_end[i];
    if (score > 0) order.push_back({i, i, score});
  }
  std::sort(order.begin(), order.end(), better);
  std::vector<TokenSpan> heap;  // the worst on top
  for (const TokenSpan& start : order) {
    if (heap.size() == count && start.score < heap.front().score) break;
    for (size_t last = start.first; last < std::min(start.first + longest, tokens); ++last) {
      const TokenSpan span{start.first, last, starts[start.first] * ends[last]};
      if (!(span.score > 0)) continue;
      if (heap.size() == count) {
        if (!better(span, heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end(), better);
        heap.pop_back();
      }
      heap.push_back(span);
      std::push_heap(heap.begin(), heap.end(), better);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), better);
  return heap;
}

}  // namespace longformer::tasks
