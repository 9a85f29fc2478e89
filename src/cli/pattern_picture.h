// An attention pattern as a raster of cells, each with the exact counts of its queries and keys,
// and the words that go with a drawing of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/count_cells.h"
#include "attention/pattern.h"

namespace longformer::cli {

// What a pattern counts in one head of its only sequence.
struct PatternCounts {
  int64_t length = 0;
  PairCounts pairs;
  int64_t padding = 0;  // scores of keys that fill up border boxes
  int64_t full() const { return length * length; }
};
PatternCounts count_pattern(const AttentionPattern& pattern, int64_t head);

enum class CellKind { kEmpty, kLocal, kGlobal, kListed };

struct Cell {
  CellKind kind = CellKind::kEmpty;  // most of its pairs
  double share = 0;                  // of its pairs that count, each as often as it does; at most 1
};

struct PatternPicture {
  std::vector<int64_t> row_edges, column_edges;  // first query or key of each, and the length
  std::vector<Cell> cells;                       // row by row
  size_t rows() const { return row_edges.size() - 1; }
  size_t columns() const { return column_edges.size() - 1; }
  const Cell& at(size_t row, size_t column) const { return cells[row * columns() + column]; }
};
// At most `rows` x `columns` cells, one a pair where the length allows it.
PatternPicture picture_of(const AttentionPattern& pattern, int64_t head, int64_t rows,
                          int64_t columns);

// "2.0 M of 16.8 M scores"; plain numbers below 100,000 scores.
std::string short_counts(const PatternCounts& counts);
std::string share_text(double share);  // "12.2 %"
// What a kind is called in this pattern: "window", "box", "block window", "all pairs" …
std::string kind_name(const AttentionPattern& pattern, CellKind kind);
// The kinds that the counts hold, in the order of a legend.
std::vector<CellKind> kinds_of(const PatternCounts& counts);

// The drawing for a terminal: lines of at most `width` characters.
std::vector<std::string> ascii_drawing(const AttentionPattern& pattern, int64_t head,
                                       int64_t width);

}  // namespace longformer::cli
