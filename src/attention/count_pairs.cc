#include "attention/count_pairs.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "longformer/error.h"

namespace longformer {
namespace {

void refuse_unknown(const AttentionPattern& pattern) {
  std::string field;
  if (pattern.grid) field = "grid";
  if (pattern.blocks) field = "blocks";
  if (pattern.memory.length > 0 || pattern.memory.cross_source) field = "memory";
  if (field.empty()) return;
  throw Error(ErrorCode::kUnsupported, field + ": its pairs are not counted by this function",
              "attention pattern");
}

// The tokens of one sequence: 1 where valid; 1 where valid and global.
struct Tokens {
  std::vector<uint8_t> valid;
  std::vector<uint8_t> global;
};

Tokens tokens_of(const AttentionPattern& pattern, size_t sequence) {
  const auto length = static_cast<size_t>(pattern.lengths[sequence]);
  Tokens tokens{std::vector<uint8_t>(length, pattern.valid.empty() ? 1 : 0),
                std::vector<uint8_t>(length, 0)};
  if (!pattern.valid.empty()) {
    for (const Interval& range : pattern.valid[sequence]) {
      std::fill(tokens.valid.begin() + range.begin, tokens.valid.begin() + range.end, uint8_t{1});
    }
  }
  if (!pattern.global.empty()) {
    for (const int64_t position : pattern.global[sequence]) {
      const auto at = static_cast<size_t>(position);
      tokens.global[at] = tokens.valid[at];
    }
  }
  return tokens;
}

int64_t sum(const std::vector<uint8_t>& marks) {
  int64_t total = 0;
  for (const uint8_t mark : marks) total += mark;
  return total;
}

}  // namespace

int64_t count_pairs(const AttentionPattern& pattern, int64_t sequence, int64_t head) {
  refuse_unknown(pattern);
  const Tokens tokens = tokens_of(pattern, static_cast<size_t>(sequence));
  const auto length = static_cast<int64_t>(tokens.valid.size());
  const int64_t dilation =
      pattern.dilation.empty() ? 1 : pattern.dilation[static_cast<size_t>(head)];
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const int64_t left = pattern.window ? pattern.window->left : kAll;
  const int64_t right = pattern.window ? pattern.window->right : kAll;
  const int64_t all_keys = sum(tokens.valid);
  const int64_t global_keys = sum(tokens.global);
  int64_t pairs = 0;
  // before[k]: the keys in front of the k-th token of a residue class that its window may count.
  // Global keys are counted by every query, whether its window reaches them or not.
  std::vector<int64_t> before;
  for (int64_t first = 0; first < std::min(dilation, length); ++first) {
    before.assign(1, 0);
    for (int64_t i = first; i < length; i += dilation) {
      const auto at = static_cast<size_t>(i);
      before.push_back(before.back() + (tokens.valid[at] & ~tokens.global[at]));
    }
    const auto members = static_cast<int64_t>(before.size()) - 1;
    for (int64_t k = 0; k < members; ++k) {
      const auto at = static_cast<size_t>(first + k * dilation);
      if (tokens.valid[at] == 0 && pattern.masked_query == MaskedQuery::kZero) continue;
      if (tokens.global[at] != 0) {
        pairs += all_keys;
        continue;
      }
      const int64_t begin = k > left ? k - left : 0;
      const int64_t end = right < members - 1 - k ? k + right + 1 : members;
      pairs += global_keys + before[static_cast<size_t>(end)] - before[static_cast<size_t>(begin)];
    }
  }
  return pairs;
}

}  // namespace longformer
