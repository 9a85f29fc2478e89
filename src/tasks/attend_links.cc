#include "tasks/attend_links.h"

#include <algorithm>
#include <utility>

namespace longformer::tasks {
namespace {

// Into a list of the strongest, sorted; the one that came first stays in front of its equals.
void keep(std::span<AttendEnd> list, int32_t token, float weight) {
  if (!(weight > list.back().weight)) return;
  size_t place = list.size() - 1;
  for (; place > 0 && weight > list[place - 1].weight; --place) list[place] = list[place - 1];
  list[place] = {token, weight};
}

// Whether a is the better link; of equals the earlier one.
bool stronger(const AttendLink& a, const AttendLink& b) {
  if (a.weight != b.weight) return a.weight > b.weight;
  return std::pair(a.from, a.to) < std::pair(b.from, b.to);
}

}  // namespace

LinkCollector::LinkCollector(int64_t tokens, int64_t top_k, int64_t strongest,
                             const LinkFilter& filter)
    : top_k_(top_k),
      most_(static_cast<size_t>(strongest)),
      filter_(filter),
      out_(static_cast<size_t>(tokens * top_k)),
      in_(out_.size()),
      received_(static_cast<size_t>(tokens), 0.0f) {}

void LinkCollector::add(int64_t from, std::span<const int32_t> keys,
                        std::span<const float> weights) {
  const auto k = static_cast<size_t>(top_k_);
  const std::span<AttendEnd> out = std::span(out_).subspan(static_cast<size_t>(from) * k, k);
  const auto own = static_cast<int32_t>(from);
  for (size_t i = 0; i < keys.size(); ++i) {
    const int32_t to = keys[i];
    const float weight = weights[i];
    received_[static_cast<size_t>(to)] += weight;
    const std::span<AttendEnd> in = std::span(in_).subspan(static_cast<size_t>(to) * k, k);
    if (!(weight > out.back().weight) && !(weight > in.back().weight)) continue;
    if (!filter_.counts(from, to)) continue;
    keep(out, to, weight);
    keep(in, own, weight);
  }
  if (most_ == 0) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    const AttendLink link{own, keys[i], weights[i]};
    if (!(link.weight > 0) || (strongest_.size() == most_ && !stronger(link, strongest_.front()))) {
      continue;
    }
    if (!filter_.counts(link.from, link.to)) continue;
    if (strongest_.size() == most_) {
      std::pop_heap(strongest_.begin(), strongest_.end(), stronger);
      strongest_.pop_back();
    }
    strongest_.push_back(link);
    std::push_heap(strongest_.begin(), strongest_.end(), stronger);
  }
}

std::vector<AttendLink> LinkCollector::finish(AttendView& view) {
  view.out = std::move(out_);
  view.in = std::move(in_);
  view.received = std::move(received_);
  std::sort(strongest_.begin(), strongest_.end(), stronger);
  return std::move(strongest_);
}

void RowMean::add(int64_t row, size_t global_keys, std::span<const int32_t> keys,
                  std::span<const float> weights, float factor) {
  Row& mean = rows_[static_cast<size_t>(row)];
  if (mean.global.empty() && global_keys > 0) {
    mean.global_keys.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(global_keys));
    mean.global.resize(global_keys);
  }
  for (size_t i = 0; i < global_keys; ++i) mean.global[i] += weights[i] * factor;
  keys = keys.subspan(global_keys);
  weights = weights.subspan(global_keys);
  if (keys.empty()) return;
  int64_t first = keys.front();
  int64_t end = keys.back() + 1;
  if (!mean.window.empty()) {
    first = std::min(first, mean.first);
    end = std::max(end, mean.first + static_cast<int64_t>(mean.window.size()));
  }
  if (end - first != static_cast<int64_t>(mean.window.size())) {
    std::vector<float> wider(static_cast<size_t>(end - first), 0.0f);
    std::copy(mean.window.begin(), mean.window.end(),
              wider.begin() + (mean.window.empty() ? 0 : mean.first - first));
    mean.window = std::move(wider);
    mean.first = first;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    mean.window[static_cast<size_t>(keys[i] - mean.first)] += weights[i] * factor;
  }
}

void RowMean::take(Row& row, std::vector<int32_t>& keys, std::vector<float>& weights) {
  keys = std::move(row.global_keys);
  weights = std::move(row.global);
  for (size_t i = 0; i < row.window.size(); ++i) {
    if (row.window[i] == 0) continue;
    keys.push_back(static_cast<int32_t>(row.first + static_cast<int64_t>(i)));
    weights.push_back(row.window[i]);
  }
  row = {};
}

}  // namespace longformer::tasks
