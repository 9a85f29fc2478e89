// Strings to numbers by walking bytes: vocabularies and added tokens.
//
// Built once from sorted keys in time linear in their bytes (no hashing: a hostile vocabulary
// cannot make it slow). The children of a node are neighbours in breadth-first order, so a node is
// a range of labels; nodes with many children get a table of 256 entries.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/piece.h"

namespace longformer::text {

class Trie {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;

  Trie() : Trie(std::vector<std::pair<std::string_view, int32_t>>{}) {}
  // Of equal keys the first counts.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> entries);

  bool empty() const { return nodes_.size() == 1 && nodes_[0].value == kNoValue; }
  int32_t value(uint32_t node) const { return nodes_[node].value; }
  uint32_t nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  uint8_t label(uint32_t node) const { return labels_[node]; }  // on the way from its parent
  // The children of a node are the nodes [begin, end); nodes are in breadth-first order.
  struct Children {
    uint32_t begin;
    uint32_t end;
  };
  Children children(uint32_t node) const {
    return {nodes_[node].first, nodes_[node].first + nodes_[node].count};
  }

  // The node after `byte`, or kNowhere.
  uint32_t child(uint32_t node, uint8_t byte) const {
    const Node& n = nodes_[node];
    if (n.table != kNowhere) return tables_[n.table + byte];
    for (uint32_t i = n.first; i < n.first + n.count; ++i) {
      if (labels_[i] == byte) return i;
    }
    return kNowhere;
  }
  uint32_t walk(uint32_t node, std::string_view bytes) const {
    for (const char c : bytes) {
      node = child(node, static_cast<uint8_t>(c));
      if (node == kNowhere) break;
    }
    return node;
  }
  int32_t find(std::string_view key) const {
    const uint32_t node = walk(kRoot, key);
    return node == kNowhere ? kNoValue : nodes_[node].value;
  }

  struct Match {
    int32_t value = kNoValue;
    size_t length = 0;
  };
  // The longest key that is a prefix of `text`, walking from `node`; value kNoValue where there is
  // none.
  Match longest(uint32_t node, std::string_view text) const {
    Match best;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == kNowhere) break;
      if (nodes_[node].value != kNoValue) best = {nodes_[node].value, i + 1};
    }
    return best;
  }

 private:
  struct Node {
    uint32_t first = 0;         // its children are nodes first .. first + count - 1
    uint32_t table = kNowhere;  // place in tables_ where it has many children
    int32_t value = kNoValue;
    uint32_t count = 0;
  };
  std::vector<Node> nodes_;
  std::vector<uint8_t> labels_;  // byte on the way from the parent, one a node
  std::vector<uint32_t> tables_;
};

// Tokens to ids.
Trie make_trie(const Vocabulary& vocabulary);

}  // namespace longformer::text
