#include "text/models/longest_match.h"

#include <string>

namespace longformer::text {
namespace {

Trie backwards(const std::vector<std::pair<std::string_view, int32_t>>& entries) {
  std::vector<std::string> keys;
  keys.reserve(entries.size());
  std::vector<std::pair<std::string_view, int32_t>> reversed;
  reversed.reserve(entries.size());
  for (const auto& [key, value] : entries) {
    keys.emplace_back(key.rbegin(), key.rend());
    reversed.emplace_back(keys.back(), value);
  }
  return Trie(std::move(reversed));
}

}  // namespace

LongestMatch::LongestMatch(const std::vector<std::pair<std::string_view, int32_t>>& entries)
    : trie_(backwards(entries)), suffix_(trie_.nodes(), Trie::kRoot), longest_(trie_.nodes()) {
  // Nodes are in breadth-first order: the suffix of a node is done before the node.
  std::vector<uint32_t> depth(trie_.nodes(), 0);
  for (uint32_t node = 0; node < trie_.nodes(); ++node) {
    const Trie::Children children = trie_.children(node);
    for (uint32_t child = children.begin; child < children.end; ++child) {
      depth[child] = depth[node] + 1;
      if (node != Trie::kRoot) suffix_[child] = next(suffix_[node], trie_.label(child));
      longest_[child] = trie_.value(child) == Trie::kNoValue
                            ? longest_[suffix_[child]]
                            : Trie::Match{trie_.value(child), depth[child]};
    }
  }
}

uint32_t LongestMatch::next(uint32_t node, uint8_t byte) const {
  while (true) {
    const uint32_t child = trie_.child(node, byte);
    if (child != Trie::kNowhere) return child;
    if (node == Trie::kRoot) return Trie::kRoot;
    node = suffix_[node];
  }
}

void LongestMatch::find(std::string_view text, std::vector<uint32_t>& places) const {
  places.resize(text.size());
  uint32_t node = Trie::kRoot;
  for (size_t at = text.size(); at-- > 0;) {
    node = next(node, static_cast<uint8_t>(text[at]));
    places[at] = node;
  }
}

}  // namespace longformer::text
