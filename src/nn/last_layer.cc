#include "nn/last_layer.h"

#include <algorithm>

namespace longformer {
namespace {

bool is_global_row(const AttentionPlan& plan, int64_t row) {
  return std::any_of(plan.global_rows.begin(), plan.global_rows.end(),
                     [row](const GlobalRows& global) {
                       return std::binary_search(global.rows.begin(), global.rows.end(), row);
                     });
}

// Marks the rows that queries of [begin, end) in `sequence` may look at.
void mark_keys(const AttentionPlan& plan, size_t sequence, int64_t begin, int64_t end,
               std::vector<uint8_t>& needed) {
  const int64_t first = plan.sequence_begin[sequence];
  const int64_t last = plan.sequence_begin[sequence + 1];
  int64_t from = first;
  int64_t to = last;
  if (plan.pattern.window) {
    const int64_t step = plan.groups.back().dilation;  // groups are by increasing dilation
    const int64_t most = last - first;
    from = std::max(first, begin - std::min(plan.pattern.window->left, most) * step);
    to = std::min(last, end + std::min(plan.pattern.window->right, most) * step);
  }
  std::fill(needed.begin() + from, needed.begin() + to, uint8_t{1});
  for (const GlobalRows& global : plan.global_rows) {
    if (global.sequence != static_cast<int32_t>(sequence)) continue;
    for (const int64_t row : global.rows) needed[row] = 1;
  }
}

std::vector<RowRange> runs_of(const std::vector<uint8_t>& needed) {
  std::vector<RowRange> runs;
  for (int64_t row = 0; row < static_cast<int64_t>(needed.size()); ++row) {
    if (needed[row] == 0) continue;
    if (runs.empty() || runs.back().end != row || runs.back().size() == kTileRows) {
      runs.push_back({row, row});
    }
    ++runs.back().end;
  }
  return runs;
}

// Calls body(place, row) for the wanted rows of [first, first + count).
template <typename Body>
void for_wanted(std::span<const int64_t> wanted, int64_t first, int64_t count, const Body& body) {
  auto place = std::lower_bound(wanted.begin(), wanted.end(), first);
  for (; place != wanted.end() && *place < first + count; ++place) {
    body(place - wanted.begin(), *place);
  }
}

}  // namespace

LastLayerPlan plan_last_layer(const AttentionPlan& plan, std::span<const int64_t> wanted,
                              int threads) {
  std::vector<uint8_t> attends(plan.blocks.size(), 0);
  std::vector<uint8_t> needed(static_cast<size_t>(plan.rows), 0);
  size_t sequence = 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const RowBlock& block = plan.blocks[b];
    while (block.begin >= plan.sequence_begin[sequence + 1]) ++sequence;
    for_wanted(wanted, block.begin, block.end - block.begin, [&](int64_t, int64_t row) {
      if (!is_global_row(plan, row)) attends[b] = 1;
    });
    if (attends[b] != 0) mark_keys(plan, sequence, block.begin, block.end, needed);
  }
  return {runs_of(needed), make_row_tiles(plan, threads, attends)};
}

void gather_wanted(std::span<const int64_t> wanted, int64_t first, int64_t count, int64_t cols,
                   const float* from, float* to) {
  for_wanted(wanted, first, count, [&](int64_t place, int64_t row) {
    std::copy_n(from + (row - first) * cols, cols, to + place * cols);
  });
}

void gather_wanted_globals(const AttentionPlan& plan, std::span<const int64_t> wanted, int64_t cols,
                           const float* global_context, float* to) {
  if (global_context == nullptr) return;
  int64_t index = 0;
  for (const GlobalRows& global : plan.global_rows) {
    for (const int64_t row : global.rows) {
      gather_wanted(wanted, row, 1, cols, global_context + index * cols, to);
      ++index;
    }
  }
}

void scatter_wanted(std::span<const int64_t> wanted, int64_t rows, int64_t cols, const float* from,
                    float* x) {
  std::fill_n(x, rows * cols, 0.0f);
  for (size_t place = 0; place < wanted.size(); ++place) {
    std::copy_n(from + static_cast<int64_t>(place) * cols, cols, x + wanted[place] * cols);
  }
}

}  // namespace longformer
