#include "attention/count_cells.h"

#include <algorithm>

namespace longformer {
namespace {

int64_t size_of(const Interval& range) { return std::max<int64_t>(range.end - range.begin, 0); }

Interval overlap(const Interval& a, const Interval& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Increasing disjoint ranges that can be counted: how many positions lie in [begin, end).
class Runs {
 public:
  void add(const Interval& range) {
    if (size_of(range) == 0) return;
    if (!ranges_.empty() && ranges_.back().end == range.begin) {
      ranges_.back().end = range.end;
    } else {
      before_.push_back(total());
      ranges_.push_back(range);
    }
  }
  int64_t within(const Interval& range) const {
    return size_of(range) == 0 ? 0 : below(range.end) - below(range.begin);
  }
  // Calls visit(part) for each part of a range that lies in [begin, end).
  template <typename Visit>
  void each_within(const Interval& range, Visit visit) const {
    if (size_of(range) == 0) return;
    for (auto run = first_ending_after(range.begin); run != ranges_.end() && run->begin < range.end;
         ++run) {
      visit(overlap(*run, range));
    }
  }

 private:
  std::vector<Interval>::const_iterator first_ending_after(int64_t position) const {
    return std::upper_bound(ranges_.begin(), ranges_.end(), position,
                            [](int64_t value, const Interval& range) { return value < range.end; });
  }
  int64_t total() const { return ranges_.empty() ? 0 : before_.back() + size_of(ranges_.back()); }
  int64_t below(int64_t position) const {
    const auto run = first_ending_after(position);
    if (run == ranges_.end()) return total();
    return before_[static_cast<size_t>(run - ranges_.begin())] +
           std::max<int64_t>(position - run->begin, 0);
  }

  std::vector<Interval> ranges_;
  std::vector<int64_t> before_;  // positions in front of each range
};

// Sum of max(0, first + k·step) over k = 0 … count - 1; step >= 1.
int64_t sum_of_ramp(int64_t first, int64_t step, int64_t count) {
  const int64_t skipped = first >= 0 ? 0 : std::min(count, (-first + step - 1) / step);
  const int64_t left = count - skipped;
  return left * (first + skipped * step) + step * (left * (left - 1) / 2);
}

// Pairs of a query in `rows` and a key in `keys` at key - query = from, from + step, …, count of
// them. On one such diagonal the ranges overlap by a sum of four ramps.
int64_t on_diagonals(const Interval& rows, const Interval& keys, int64_t from, int64_t step,
                     int64_t count) {
  if (count <= 0) return 0;
  const auto ramp = [&](int64_t start) { return sum_of_ramp(from + start, step, count); };
  return ramp(rows.end - keys.begin) - ramp(rows.begin - keys.begin) - ramp(rows.end - keys.end) +
         ramp(rows.begin - keys.end);
}

Interval block_range(const Blocks& blocks, int64_t block, int64_t length) {
  return {block * blocks.size, std::min((block + 1) * blocks.size, length)};
}

// The positions of a sequence by what they are.
struct Positions {
  Runs counting;       // queries that count anything
  Runs local_queries;  // of those, the ones that are not global
  Runs keys;
  Runs local_keys;
};

Positions positions_of(const AttentionPattern& pattern, int64_t sequence) {
  const auto s = static_cast<size_t>(sequence);
  const Interval all = {0, pattern.lengths[s]};
  std::vector<Interval> valid = {all};
  if (!pattern.valid.empty()) valid = pattern.valid[s];
  const std::vector<int64_t> none;
  const std::vector<int64_t>& globals = pattern.global.empty() ? none : pattern.global[s];
  Positions result;
  int64_t query = 0;  // up to here queries are sorted
  const bool attend = pattern.masked_query == MaskedQuery::kAttend;
  const auto add_masked_queries = [&](int64_t end) {
    if (!attend) return;
    result.counting.add({query, end});
    result.local_queries.add({query, end});
  };
  auto global = globals.begin();
  for (const Interval& range : valid) {
    if (size_of(range) == 0) continue;
    add_masked_queries(range.begin);
    result.counting.add(range);
    result.keys.add(range);
    int64_t begin = range.begin;
    for (global = std::lower_bound(global, globals.end(), range.begin);
         global != globals.end() && *global < range.end; ++global) {
      result.local_queries.add({begin, *global});
      result.local_keys.add({begin, *global});
      begin = *global + 1;
    }
    result.local_queries.add({begin, range.end});
    result.local_keys.add({begin, range.end});
    query = range.end;
  }
  add_masked_queries(all.end);
  return result;
}

}  // namespace

struct CellCounter::Impl {
  const AttentionPattern& pattern;
  int64_t head;
  int64_t length;
  Positions positions;
  Window window;  // within the sequence
  int64_t dilation;
  bool everything = false;  // all local pairs count
  // Of a grid: columns of the map that share boxes, with the local keys in them above each row.
  struct Column {
    Interval range;
    std::vector<int64_t> keys_before;
  };
  std::vector<Column> box_columns;

  Impl(const AttentionPattern& all, int64_t sequence, int64_t of_head)
      : pattern(all),
        head(of_head),
        length(all.lengths[static_cast<size_t>(sequence)]),
        positions(positions_of(all, sequence)),
        dilation(dilation_of(all, of_head)) {
    const int64_t most = length / dilation;
    window = {most, most};
    if (all.window) window = {std::min(all.window->left, most), std::min(all.window->right, most)};
    everything = dilation == 1 && window.left >= length - 1 && window.right >= length - 1;
    if (pattern.grid) box_columns = columns_of_boxes();
  }

  using Cells = std::vector<PairCounts>;
  using Edges = std::span<const int64_t>;

  // Calls share(cell, keys) for the part of `keys` in each column that they touch.
  template <typename Take>
  static void spread(const Interval& keys, Edges edges, Cells& cells, Take share) {
    const Interval shown = overlap(keys, {edges.front(), edges.back()});
    if (size_of(shown) == 0) return;
    auto c = static_cast<size_t>(std::upper_bound(edges.begin(), edges.end(), shown.begin) -
                                 edges.begin() - 1);
    for (; c + 1 < edges.size() && edges[c] < shown.end; ++c) {
      share(cells[c], overlap(shown, {edges[c], edges[c + 1]}));
    }
  }

  void add_global(const Interval& rows, Edges edges, Cells& cells) const {
    const int64_t local = positions.local_queries.within(rows);
    const int64_t global = positions.counting.within(rows) - local;
    for (size_t c = 0; c < cells.size(); ++c) {
      const Interval keys = {edges[c], edges[c + 1]};
      const int64_t valid = positions.keys.within(keys);
      cells[c].global += global * valid + local * (valid - positions.local_keys.within(keys));
    }
  }

  void add_everything(const Interval& rows, Edges edges, Cells& cells) const {
    const int64_t local = positions.local_queries.within(rows);
    for (size_t c = 0; c < cells.size(); ++c) {
      cells[c].local += local * positions.local_keys.within({edges[c], edges[c + 1]});
    }
  }

  void add_window(const Interval& rows, Edges edges, Cells& cells) const {
    const int64_t step = dilation, steps = window.left + window.right + 1;
    positions.local_queries.each_within(rows, [&](const Interval& queries) {
      const Interval near = {queries.begin - window.left * step, queries.end + window.right * step};
      spread(near, edges, cells, [&](PairCounts& cell, const Interval& columns) {
        positions.local_keys.each_within(columns, [&](const Interval& keys) {
          cell.local += on_diagonals(queries, keys, -window.left * step, step, steps);
        });
      });
    });
  }

  void add_block_window(const Interval& rows, Edges edges, Cells& cells) const {
    const Blocks& blocks = *pattern.blocks;
    const int64_t reach = std::min(*blocks.reach, length);
    for (int64_t b = rows.begin / blocks.size; b * blocks.size < rows.end; ++b) {
      const Interval queries = overlap(rows, block_range(blocks, b, length));
      const int64_t local = positions.local_queries.within(queries);
      const Interval near = {(b - reach) * blocks.size, (b + reach + 1) * blocks.size};
      spread(near, edges, cells, [&](PairCounts& cell, const Interval& keys) {
        cell.local += local * positions.local_keys.within(keys);
      });
    }
  }

  void add_listed(const Interval& rows, Edges edges, Cells& cells) const {
    const Blocks& blocks = *pattern.blocks;
    for (int64_t b = rows.begin / blocks.size; b * blocks.size < rows.end; ++b) {
      const Interval queries = overlap(rows, block_range(blocks, b, length));
      const int64_t counting = positions.counting.within(queries);
      for (const int32_t key_block :
           blocks.extra[static_cast<size_t>(head)][static_cast<size_t>(b)]) {
        spread(block_range(blocks, key_block, length), edges, cells,
               [&](PairCounts& cell, const Interval& keys) {
                 cell.listed += counting * positions.keys.within(keys);
               });
      }
    }
  }

  // Calls visit(queries, region) for each run of queries of one region and one row of the map.
  template <typename Visit>
  void each_run(const Interval& rows, Visit visit) const {
    const int64_t width = pattern.grid->width;
    for (int64_t i = rows.begin; i < rows.end;) {
      const Region region = region_of(*pattern.grid, i);
      const Interval queries = {i, std::min(rows.end, i / width * width + region.columns.end)};
      visit(queries, region);
      i = queries.end;
    }
  }

  // Queries of a region see the same keys: once for all of them, by rows of the map or by columns
  // of cells, whichever are fewer.
  void add_boxes(const Interval& rows, Edges edges, Cells& cells) const {
    const int64_t width = pattern.grid->width;
    for (int64_t i = rows.begin; i < rows.end;) {
      const Interval band = region_of(*pattern.grid, i).rows;
      const Interval queries = {i, std::min(rows.end, band.end * width)};
      const Interval shown = {band.begin * width, band.end * width};
      const auto inside = std::upper_bound(edges.begin(), edges.end(), shown.end) -
                          std::lower_bound(edges.begin(), edges.end(), shown.begin);
      for (const Column& column : box_columns) {
        const int64_t local = local_queries(queries, column.range);
        if (local == 0) continue;
        if (inside < size_of(band)) {
          spread(shown, edges, cells, [&](PairCounts& cell, const Interval& part) {
            cell.local += local * (keys_below(column, part.end) - keys_below(column, part.begin));
          });
          continue;
        }
        for (int64_t y = band.begin; y < band.end; ++y) {
          spread(on_row(y, column.range), edges, cells,
                 [&](PairCounts& cell, const Interval& part) {
                   cell.local += local * positions.local_keys.within(part);
                 });
        }
      }
      i = queries.end;
    }
  }

  int64_t local_queries(const Interval& queries, const Interval& range) const {
    const int64_t width = pattern.grid->width;
    int64_t sum = 0;
    for (int64_t y = queries.begin / width; y * width < queries.end; ++y) {
      sum += positions.local_queries.within(overlap(queries, on_row(y, range)));
    }
    return sum;
  }

  int64_t keys_below(const Column& column, int64_t position) const {
    const int64_t y = position / pattern.grid->width;
    const Interval last = overlap(on_row(y, column.range), {0, position});
    return column.keys_before[static_cast<size_t>(y)] + positions.local_keys.within(last);
  }

  Interval on_row(int64_t y, const Interval& range) const {
    const int64_t width = pattern.grid->width;
    return {y * width + range.begin, y * width + range.end};
  }

  std::vector<Column> columns_of_boxes() const {
    const Grid& grid = *pattern.grid;
    std::vector<Column> result;
    for (int64_t x = 0; x < grid.width; x = result.back().range.end) {
      Column column{region_of(grid, x).columns, {0}};
      for (int64_t y = 0; y < grid.height; ++y) {
        column.keys_before.push_back(column.keys_before.back() +
                                     positions.local_keys.within(on_row(y, column.range)));
      }
      result.push_back(std::move(column));
    }
    return result;
  }
};

CellCounter::CellCounter(const AttentionPattern& pattern, int64_t sequence, int64_t head)
    : impl_(std::make_unique<Impl>(pattern, sequence, head)) {}

CellCounter::~CellCounter() = default;

std::vector<PairCounts> CellCounter::strip(Interval rows, std::span<const int64_t> edges) const {
  std::vector<PairCounts> cells(edges.empty() ? 0 : edges.size() - 1);
  if (cells.empty() || size_of(rows) == 0) return cells;
  const AttentionPattern& pattern = impl_->pattern;
  impl_->add_global(rows, edges, cells);
  if (pattern.grid) {
    impl_->add_boxes(rows, edges, cells);
  } else if (pattern.blocks && !pattern.window) {
    if (pattern.blocks->reach) impl_->add_block_window(rows, edges, cells);
  } else if (impl_->everything) {
    impl_->add_everything(rows, edges, cells);
  } else {
    impl_->add_window(rows, edges, cells);
  }
  if (pattern.blocks && !pattern.blocks->extra.empty()) impl_->add_listed(rows, edges, cells);
  return cells;
}

int64_t CellCounter::padding(Interval rows) const {
  if (!impl_->pattern.grid) return 0;
  int64_t sum = 0;
  impl_->each_run(rows, [&](const Interval& queries, const Region& region) {
    sum += impl_->positions.local_queries.within(queries) * region.padding;
  });
  return sum;
}

PairCounts count_all(const AttentionPattern& pattern, int64_t sequence, int64_t head) {
  const int64_t length = pattern.lengths[static_cast<size_t>(sequence)];
  const int64_t edges[] = {0, length};
  return length == 0 ? PairCounts{}
                     : CellCounter(pattern, sequence, head).strip({0, length}, edges)[0];
}

}  // namespace longformer
