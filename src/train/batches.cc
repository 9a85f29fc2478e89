#include "train/batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "longformer/error.h"

namespace longformer::train {

std::vector<int64_t> epoch_permutation(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key = random_bits(seed, static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) {
    const double uniform = random_uniform(key, i);
    std::swap(order[i - 1], order[static_cast<size_t>(uniform * static_cast<double>(i))]);
  }
  return order;
}

BatchOrder::BatchOrder(const BatchSettings& settings, std::vector<int64_t> lengths)
    : settings_(settings), lengths_(std::move(lengths)) {
  if (lengths_.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "has no example to train on; give files with at least one", "the training set");
  }
}

// Of a group, on the average: how many are sorted together is told by it.
int64_t BatchOrder::examples_per_batch() const {
  int64_t examples = settings_.batch_size;
  if (settings_.tokens_per_batch > 0) {
    const int64_t tokens = std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
    const int64_t mean = std::max<int64_t>(tokens / this->examples(), 1);
    examples = std::max<int64_t>(settings_.tokens_per_batch / mean, 1);
  }
  return std::min(examples, this->examples()) * settings_.accumulation_steps;
}

// As get_length_grouped_indices of Transformers: stretches of 50 batches are sorted, longest first,
// and the longest example of all begins, so that too little memory shows at once.
std::vector<int64_t> BatchOrder::order(int64_t epoch) const {
  std::vector<int64_t> order = epoch_permutation(examples(), settings_.seed, epoch);
  if (!settings_.group_by_length) return order;
  constexpr int64_t kMostBatches = 50, kFewestStretches = 4;
  const int64_t batch = examples_per_batch();
  const int64_t stretch =
      batch * std::clamp<int64_t>(examples() / (batch * kFewestStretches), 1, kMostBatches);
  const auto length = [&](int64_t example) { return lengths_[static_cast<size_t>(example)]; };
  size_t longest = 0;
  for (size_t first = 0; first < order.size(); first += static_cast<size_t>(stretch)) {
    const size_t end = std::min(order.size(), first + static_cast<size_t>(stretch));
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first),
                     order.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](int64_t a, int64_t b) { return length(a) > length(b); });
    if (length(order[first]) > length(order[longest])) longest = first;
  }
  std::swap(order[0], order[longest]);
  return order;
}

const std::vector<Batch>& BatchOrder::batches(int64_t epoch) {
  if (epoch == cached_epoch_) return cached_;
  cached_.clear();
  int64_t tokens = 0;
  for (const int64_t example : order(epoch)) {
    const int64_t length = lengths_[static_cast<size_t>(example)];
    const bool full = !cached_.empty() &&
                      (settings_.tokens_per_batch > 0
                           ? tokens + length > settings_.tokens_per_batch
                           : static_cast<int64_t>(cached_.back().size()) >= settings_.batch_size);
    if (cached_.empty() || full) {
      cached_.emplace_back();
      tokens = 0;
    }
    cached_.back().push_back(example);
    tokens += length;
  }
  cached_epoch_ = epoch;
  return cached_;
}

int64_t BatchOrder::groups(int64_t epoch) {
  const auto count = static_cast<int64_t>(batches(epoch).size());
  return (count + settings_.accumulation_steps - 1) / settings_.accumulation_steps;
}

std::vector<Batch> BatchOrder::group(const Position& position) {
  const std::vector<Batch>& all = batches(position.epoch);
  const auto count = static_cast<int64_t>(all.size());
  const int64_t first = position.group * settings_.accumulation_steps;
  if (position.group < 0 || first >= count) {
    throw Error(ErrorCode::kInternal, "epoch " + std::to_string(position.epoch) + " has no group " +
                                          std::to_string(position.group));
  }
  const int64_t end = std::min(count, first + settings_.accumulation_steps);
  return {all.begin() + first, all.begin() + end};
}

Position BatchOrder::after(const Position& position) {
  if (position.group + 1 < groups(position.epoch)) return {position.epoch, position.group + 1};
  return {position.epoch + 1, 0};
}

int64_t BatchOrder::groups_in(double epochs) {
  const auto whole = static_cast<int64_t>(epochs);
  const double part = epochs - static_cast<double>(whole);
  const auto of_part = [&](int64_t epoch) {
    return part > 0 ? static_cast<int64_t>(std::ceil(part * static_cast<double>(groups(epoch))))
                    : 0;
  };
  if (settings_.tokens_per_batch == 0) return whole * groups(0) + of_part(0);
  int64_t sum = 0;
  for (int64_t epoch = 0; epoch < whole; ++epoch) sum += groups(epoch);
  return sum + of_part(whole);
}

}  // namespace longformer::train
