// A pattern compiled into work: where keys lie in memory, and for each tile of queries a short list
// of key ranges.
//
// Key rows. Keys and values of one head lie as [key_rows][head_dim]. Heads with the same dilation
// form a group; inside a group the tokens of a sequence are stored in residue order (i mod d, then
// i div d), so a dilated window is a plain one. Each residue class starts at a multiple of
// kKeyAlign and is followed by zero rows up to one, so a tile may read a rounded span (with masked
// tokens in front, enough of them to round the part from the first to the last valid key). Rows of
// keys that are not valid hold zeros: a masked value is never multiplied, not even by zero.
//
// Bits. Query tiles, key spans and the grouping of partial sums depend on a sequence alone (its
// length, valid range, globals), never on its neighbours, the number of threads or the load. All of
// them are counted from the first valid token, and row blocks are also cut behind the last one:
// masked tokens around a sequence change nothing between the two.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/pattern.h"

namespace longformer {

inline constexpr int64_t kKeyAlign = 32;        // key spans are multiples of this
inline constexpr int64_t kStripKeys = 2048;     // longest key range of one softmax strip
inline constexpr int64_t kGlobalBlock = 1024;   // keys of one partial sum of a global row
inline constexpr int64_t kQueryRows = 64;       // queries of a tile
inline constexpr int64_t kShortLength = 256;    // first to last valid token of a short sequence
inline constexpr int64_t kShortQueryRows = 16;  // queries of a tile of a short sequence

// Keys [begin, end) of a group's key rows. `full`: every query of the tile counts every key of the
// range.
struct KeyRange {
  int32_t begin = 0;
  int32_t end = 0;
  bool full = false;
};

// `rows` queries of one sequence, `step` tokens apart, which are neighbours in residue order.
struct QueryTile {
  int32_t sequence = 0;
  int32_t group = 0;
  int64_t first_row = 0;  // row of the concatenated batch; query r is row first_row + r * step
  int32_t step = 1;       // the group's dilation
  int32_t rows = 0;
  int32_t position = 0;   // key row of the first query; query r sits at position + r
  int64_t query_row = 0;  // of the first query; query r stands at query_row + r
  // Query r counts key row k of a range when max(limit_begin, position + r - left) <= k <
  // min(limit_end, position + r + right + 1) and k is not excluded. (A full window has left = right
  // = kMaxSequence.)
  int32_t left = 0;
  int32_t right = 0;
  int32_t limit_begin = 0;
  int32_t limit_end = 0;
  int32_t first_range = 0;  // into AttentionPlan::ranges
  int32_t range_count = 0;
  int32_t first_excluded =
      0;  // into AttentionPlan::excluded: key rows of the ranges that are masked or global
  int32_t excluded_count = 0;
};

// A run of rows that is computed as a whole: all tiles of all groups for rows [begin, end) of the
// batch.
struct RowBlock {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t first_tile = 0;
  int32_t tile_count = 0;
};

// The global queries of one sequence: they count every valid key, in blocks that are merged in
// order.
struct GlobalRows {
  int32_t sequence = 0;
  std::vector<int64_t> rows;  // rows of the concatenated batch, increasing
  std::vector<Interval>
      blocks;  // rows of the batch, at most kGlobalBlock each, anchored at the first valid row
};

struct HeadGroup {
  int64_t dilation = 1;
  std::vector<int32_t> heads;
  std::vector<int32_t> key_row;  // [rows of the batch]: the key row of each token
  // [rows of the batch]: where the query of each token stands. Queries of one head lie as
  // [query_rows][head_dim] in the order of the group's tiles, each tile rounded up to kRowAlign.
  std::vector<int32_t> query_row;
  int64_t query_rows = 0;
  std::vector<std::vector<int32_t>>
      global_key_rows;  // per sequence: key rows of its global columns, by position
};

struct AttentionPlan {
  AttentionPattern pattern;
  int64_t rows = 0;                     // tokens of the batch
  int64_t key_rows = 0;                 // rows of one head's key plane, the largest group's
  std::vector<int64_t> sequence_begin;  // sequences + 1: first row of each sequence
  std::vector<HeadGroup> groups;
  std::vector<int32_t> head_group;  // per head
  std::vector<RowBlock> blocks;     // increasing, disjoint, cover [0, rows)
  std::vector<QueryTile> tiles;     // by block, then group
  std::vector<KeyRange> ranges;
  std::vector<int32_t> excluded;        // increasing inside a tile
  std::vector<uint8_t> valid_row;       // [rows]: 1 where the token is a valid key
  std::vector<GlobalRows> global_rows;  // one entry a sequence that has any
};

// Throws Error: kInvalidArgument from validate(); kUnsupported naming the field for grid, blocks,
// memory and bias, which have no user yet.
AttentionPlan compile(const AttentionPattern& pattern);

}  // namespace longformer
