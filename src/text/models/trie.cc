#include "text/models/trie.h"

#include <algorithm>
#include <string>

namespace longformer::text {
namespace {

constexpr uint32_t kTableFrom = 5;  // children; a shorter list is as fast to scan and 1 KiB smaller

// Keys [begin, end) of the sorted list share the path of this node.
struct Range {
  size_t begin;
  size_t end;
};

}  // namespace

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const auto& a, const auto& b) { return a.first == b.first; }),
                entries.end());
  std::vector<Range> level = {{0, entries.size()}};  // ranges of the nodes from `node` on
  nodes_.emplace_back();
  labels_.push_back(0);
  uint32_t node = 0;
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> next;
    for (Range range : level) {
      if (range.begin < range.end && entries[range.begin].first.size() == depth) {
        nodes_[node].value = entries[range.begin++].second;
      }
      nodes_[node].first = static_cast<uint32_t>(nodes_.size());
      for (size_t i = range.begin; i < range.end;) {
        const char label = entries[i].first[depth];
        size_t end = i + 1;
        while (end < range.end && entries[end].first[depth] == label) ++end;
        next.push_back({i, end});
        nodes_.emplace_back();
        labels_.push_back(static_cast<uint8_t>(label));
        i = end;
      }
      Node& n = nodes_[node];
      n.count = static_cast<uint32_t>(nodes_.size()) - n.first;
      if (n.count >= kTableFrom) {
        n.table = static_cast<uint32_t>(tables_.size());
        tables_.resize(tables_.size() + 256, kNowhere);
        for (uint32_t i = n.first; i < n.first + n.count; ++i) tables_[n.table + labels_[i]] = i;
      }
      ++node;
    }
    level = std::move(next);
  }
}

Trie make_trie(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary) entries.emplace_back(token, id);
  return Trie(std::move(entries));
}

}  // namespace longformer::text
