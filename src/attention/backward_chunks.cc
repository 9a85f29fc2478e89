#include "attention/backward_chunks.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attention/align.h"
#include "attention/backward.h"

namespace longformer {
namespace {

// The chunks of a plan, sequence by sequence.
class Chunks {
 public:
  Chunks(const AttentionPlan& plan, const std::vector<uint8_t>& adds) : plan_(plan), adds_(adds) {
    size_t block = 0;
    for (size_t s = 0; s < plan.pattern.lengths.size(); ++s) block = add_sequence(s, block);
  }

  std::vector<Chunk> take() { return std::move(chunks_); }

 private:
  // Returns the first block behind the sequence.
  size_t add_sequence(size_t s, size_t block) {
    const int64_t begin = plan_.sequence_begin[s], end = plan_.sequence_begin[s + 1];
    int64_t anchor = begin;
    while (anchor < end && plan_.valid_row[static_cast<size_t>(anchor)] == 0) ++anchor;
    const auto cell = [&](size_t b) {
      // Blocks in front of the anchor have negative cells.
      const int64_t distance = plan_.blocks[b].begin - anchor;
      return (distance - (distance < 0 ? kBackwardQueries - 1 : 0)) / kBackwardQueries;
    };
    const size_t first_chunk = chunks_.size();
    while (block < plan_.blocks.size() && plan_.blocks[block].begin < end) {
      Chunk chunk{s, anchor, block, block + 1, false, false, {}};
      while (chunk.end_block < plan_.blocks.size() && plan_.blocks[chunk.end_block].begin < end &&
             cell(chunk.end_block) == cell(block)) {
        ++chunk.end_block;
      }
      block = chunk.end_block;
      chunk.adds = any_row(chunk);
      chunks_.push_back(std::move(chunk));
    }
    const std::span<Chunk> all = std::span(chunks_).subspan(first_chunk);
    const auto adding =
        std::count_if(all.begin(), all.end(), [](const Chunk& c) { return c.adds; });
    for (Chunk& chunk : all) {
      chunk.whole = chunk.adds && adding == 1;
      lay_out(chunk);
    }
    return block;
  }

  bool any_row(const Chunk& chunk) const {
    const auto first = adds_.begin() + plan_.blocks[chunk.first_block].begin;
    const auto last = adds_.begin() + plan_.blocks[chunk.end_block - 1].end;
    return std::find(first, last, 1) != last;
  }

  void lay_out(Chunk& chunk) const {
    chunk.groups.resize(plan_.groups.size());
    for (size_t b = chunk.first_block; b < chunk.end_block; ++b) {
      const RowBlock& block = plan_.blocks[b];
      for (int32_t t = block.first_tile; t < block.first_tile + block.tile_count; ++t) {
        chunk.groups[static_cast<size_t>(tile_at(t).group)].tiles.push_back(t);
      }
    }
    for (size_t g = 0; g < chunk.groups.size(); ++g) {
      ChunkGroup& group = chunk.groups[g];
      // Stable: within a class they stay in their order.
      std::stable_sort(group.tiles.begin(), group.tiles.end(), [&](int32_t a, int32_t b) {
        return residue(chunk, tile_at(a)) < residue(chunk, tile_at(b));
      });
      if (!chunk.adds) continue;
      const auto globals = plan_.groups[g].global_key_rows[chunk.sequence].size();
      group.globals = round_up(static_cast<int64_t>(globals), kGatherAlign);
      if (chunk.whole) {
        group.intervals = {{0, static_cast<int32_t>(plan_.key_rows), 0}};
      } else {
        collect_keys(group);
      }
    }
  }

  void collect_keys(ChunkGroup& group) const {
    for (const int32_t t : group.tiles) {
      const QueryTile& tile = tile_at(t);
      for (int32_t i = tile.first_range; i < tile.first_range + tile.range_count; ++i) {
        const KeyRange& range = plan_.ranges[static_cast<size_t>(i)];
        group.intervals.push_back({range.begin, range.end, 0});
      }
    }
    group.rows = unite(group.intervals);
  }

  // Counted from the first valid row, like all that decides bits.
  static int64_t residue(const Chunk& chunk, const QueryTile& tile) {
    const int64_t rest = (tile.first_row - chunk.anchor) % tile.step;
    return rest < 0 ? rest + tile.step : rest;
  }

  const QueryTile& tile_at(int32_t t) const { return plan_.tiles[static_cast<size_t>(t)]; }

  // Intervals become their union, each with its row; returns the rows of all.
  static int64_t unite(std::vector<KeyInterval>& intervals) {
    std::sort(intervals.begin(), intervals.end(),
              [](const KeyInterval& a, const KeyInterval& b) { return a.begin < b.begin; });
    std::vector<KeyInterval> united;
    for (const KeyInterval& interval : intervals) {
      if (!united.empty() && interval.begin <= united.back().end) {
        united.back().end = std::max(united.back().end, interval.end);
      } else {
        united.push_back(interval);
      }
    }
    int64_t rows = 0;
    for (KeyInterval& interval : united) {
      interval.row = rows;
      rows += interval.end - interval.begin;
    }
    intervals = std::move(united);
    return rows;
  }

  const AttentionPlan& plan_;
  const std::vector<uint8_t>& adds_;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<uint8_t> rows_that_add(const AttentionPlan& plan) {
  std::vector<uint8_t> adds = plan.valid_row;
  if (plan.pattern.masked_query == MaskedQuery::kAttend) std::fill(adds.begin(), adds.end(), 1);
  for (const GlobalRows& global : plan.global_rows) {
    for (const int64_t row : global.rows) adds[static_cast<size_t>(row)] = 0;
  }
  return adds;
}

std::vector<Chunk> backward_chunks(const AttentionPlan& plan, const std::vector<uint8_t>& adds) {
  return Chunks(plan, adds).take();
}

}  // namespace longformer
