// Counts of a pattern by rectangles of queries and keys, without visiting the pairs: what a picture
// of a million tokens needs. Says the same as count() (pattern.h), the definition.
//
// Cost of a strip, for q query and k key pieces (runs of positions that are alike: valid or not,
// global or not): at most q·k steps for a token window, in which only the keys near a query piece
// are visited; for blocks their number in the strip, times what one sees; for boxes the rows of
// those in the strip, or the columns of cells that they touch. A counter of a grid holds a number
// for each row of each column of boxes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/pattern.h"

namespace longformer {

// Why pairs count; a pair of a global token counts as that alone.
struct PairCounts {
  int64_t local = 0;   // window, block window, box
  int64_t global = 0;  // rows and columns of global tokens
  int64_t listed = 0;  // Blocks::extra, with repeats
  int64_t total() const { return local + global + listed; }
  bool operator==(const PairCounts&) const = default;
};

class CellCounter {
 public:
  // One head of one sequence. The pattern must be valid and outlive the counter.
  CellCounter(const AttentionPattern& pattern, int64_t sequence, int64_t head);
  ~CellCounter();
  CellCounter(const CellCounter&) = delete;
  CellCounter& operator=(const CellCounter&) = delete;

  // The counts of queries [rows.begin, rows.end) with keys [edges[c], edges[c + 1]), for each c.
  // Edges increase; all lie within the sequence.
  std::vector<PairCounts> strip(Interval rows, std::span<const int64_t> edges) const;
  // Sum of padding_keys() of the queries.
  int64_t padding(Interval rows) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sum of count() over all queries and keys of a sequence.
PairCounts count_all(const AttentionPattern& pattern, int64_t sequence, int64_t head);

}  // namespace longformer
