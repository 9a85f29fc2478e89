#include "attention/count_pairs.h"

#include "attention/align.h"
#include "attention/count_cells.h"
#include "longformer/error.h"

namespace longformer {

int64_t count_pairs(const AttentionPattern& pattern, int64_t sequence, int64_t head) {
  if (pattern.memory.length > 0 || pattern.memory.cross_source) {
    throw Error(ErrorCode::kUnsupported, "memory: its pairs are not counted by this function",
                "attention pattern");
  }
  return count_all(pattern, sequence, head).total();
}

int64_t computed_pairs(const AttentionPlan& plan, int64_t head, int64_t row_quantum) {
  const int32_t group = plan.head_group[static_cast<size_t>(head)];
  int64_t pairs = 0;
  for (const QueryTile& tile : plan.tiles) {
    if (tile.group != group) continue;
    const auto globals = static_cast<int64_t>(
        plan.groups[static_cast<size_t>(group)].global_key_rows[tile.sequence].size());
    // Whole strips are multiples of kGatherAlign already.
    int64_t keys = round_up(globals, kGatherAlign);
    for (int32_t r = tile.first_range; r < tile.first_range + tile.range_count; ++r) {
      const KeyRange& range = plan.ranges[static_cast<size_t>(r)];
      keys += range.end - range.begin;
    }
    pairs += round_up(round_up(tile.rows, kRowAlign), row_quantum) * keys;
  }
  return pairs;
}

}  // namespace longformer
