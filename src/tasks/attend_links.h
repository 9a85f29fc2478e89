// The strongest links of a stream of rows: what attend() keeps of each view.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/attend.h"

namespace longformer::tasks {

// Which links count.
struct LinkFilter {
  const std::vector<uint8_t>* special = nullptr;  // [tokens]: 1 where a token is
  bool self_links = true;
  bool special_links = true;
  bool counts(int64_t from, int64_t to) const {
    if (from == to && !self_links) return false;
    return special_links ||
           ((*special)[static_cast<size_t>(from)] == 0 && (*special)[static_cast<size_t>(to)] == 0);
  }
};

class LinkCollector {
 public:
  // strongest: links of the whole that are kept.
  LinkCollector(int64_t tokens, int64_t top_k, int64_t strongest, const LinkFilter& filter);

  // Where token `from` looks. Rows come in increasing order, each once.
  void add(int64_t from, std::span<const int32_t> keys, std::span<const float> weights);
  // Moves what was kept into the view; the strongest links come back.
  std::vector<AttendLink> finish(AttendView& view);

 private:
  int64_t top_k_;
  size_t most_;
  LinkFilter filter_;
  std::vector<AttendEnd> out_, in_;
  std::vector<float> received_;
  std::vector<AttendLink> strongest_;  // a heap, the weakest in front
};

// The mean of the rows of several layers, window by window: not larger than what the widest layer
// counts.
class RowMean {
 public:
  explicit RowMean(int64_t tokens) : rows_(static_cast<size_t>(tokens)) {}
  // global_keys: as AttentionRow, the same in every layer.
  void add(int64_t row, size_t global_keys, std::span<const int32_t> keys,
           std::span<const float> weights, float factor);
  // Hands the rows over in order and forgets them.
  template <typename Visit>
  void finish(const Visit& visit) {
    std::vector<int32_t> keys;
    std::vector<float> weights;
    for (size_t row = 0; row < rows_.size(); ++row) {
      take(rows_[row], keys, weights);
      visit(static_cast<int64_t>(row), keys, weights);
    }
  }

 private:
  struct Row {
    std::vector<int32_t> global_keys;
    std::vector<float> global;
    int64_t first = 0;          // token of window[0]
    std::vector<float> window;  // not-global tokens; the others in between are zeros
  };
  static void take(Row& row, std::vector<int32_t>& keys, std::vector<float>& weights);
  std::vector<Row> rows_;
};

}  // namespace longformer::tasks
