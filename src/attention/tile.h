// Which keys the queries of a tile count: read by the kernel (forward.cc) and by those who want to
// see its probabilities (probabilities.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/align.h"
#include "attention/plan.h"

namespace longformer {

// Half-open.
struct KeySpan {
  int32_t begin = 0;
  int32_t end = 0;
};

inline bool query_counts(const AttentionPlan& plan, const QueryTile& tile, int64_t r) {
  return plan.pattern.masked_query == MaskedQuery::kAttend ||
         plan.valid_row[static_cast<size_t>(tile.first_row + r * tile.step)] != 0;
}

// The keys of a range that query r may count, none where end <= begin. Those of excluded_in() are
// among them and are not counted.
inline KeySpan keys_of_query(const QueryTile& tile, const KeyRange& range, int64_t r) {
  const int32_t query = tile.position + static_cast<int32_t>(r);
  return {std::max({tile.limit_begin, query - tile.left, range.begin}),
          std::min({tile.limit_end, query + tile.right + 1, range.end})};
}

// Key rows of the range that are masked or global, increasing.
inline std::span<const int32_t> excluded_in(const AttentionPlan& plan, const QueryTile& tile,
                                            const KeyRange& range) {
  const int32_t* first = plan.excluded.data() + tile.first_excluded;
  const int32_t* last = first + tile.excluded_count;
  const int32_t* begin = std::lower_bound(first, last, range.begin);
  return {begin, std::lower_bound(begin, last, range.end)};
}

// Key rows of the global columns that every query of the tile counts.
inline const std::vector<int32_t>& global_columns(const AttentionPlan& plan,
                                                  const QueryTile& tile) {
  return plan.groups[static_cast<size_t>(tile.group)]
      .global_key_rows[static_cast<size_t>(tile.sequence)];
}

// Rows of a plane one behind the other, zeros behind them up to `width`.
template <typename T>
void gather_rows(std::span<const int32_t> key_rows, int64_t width, int64_t head_dim, const T* plane,
                 T* out) {
  const auto count = static_cast<int64_t>(key_rows.size());
  for (int64_t c = 0; c < count; ++c) {
    std::copy_n(plane + key_rows[static_cast<size_t>(c)] * head_dim, head_dim, out + c * head_dim);
  }
  std::fill_n(out + count * head_dim, (width - count) * head_dim, T{});
}

}  // namespace longformer
