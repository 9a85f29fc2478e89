#include "attention/dropout.h"

#include <algorithm>

#include "base/random.h"

namespace longformer {
namespace {

// Rows of the batch that are global in a sequence that has any.
const std::vector<int64_t>& global_rows_of(const AttentionPlan& plan, int32_t sequence) {
  return std::find_if(plan.global_rows.begin(), plan.global_rows.end(),
                      [=](const GlobalRows& global) { return global.sequence == sequence; })
      ->rows;
}

}  // namespace

uint64_t AttentionDropout::row_key(int64_t sequence, int64_t head,
                                   int64_t position) const noexcept {
  const uint64_t key = sequence_keys[static_cast<size_t>(sequence)];
  return random_bits(random_bits(key, static_cast<uint64_t>(head)),
                     static_cast<uint64_t>(position));
}

TileDropout::TileDropout(const AttentionPlan& plan, const QueryTile& tile, int64_t head,
                         const AttentionDropout& dropout)
    : plan_(plan), tile_(tile), rule_(dropout.rule) {
  const int64_t first = tile.first_row - plan.sequence_begin[static_cast<size_t>(tile.sequence)];
  position_ = static_cast<uint32_t>(first);
  for (int64_t r = 0; r < tile.rows; ++r) {
    row_keys_[r] = dropout.row_key(tile.sequence, head, first + r * tile.step);
  }
}

// Key rows outside the sequence get positions of no token; nothing is counted there.
void TileDropout::drop_keys(int64_t first_key, int64_t width, float* x) const noexcept {
  const auto step = static_cast<uint32_t>(tile_.step);
  const uint32_t index = position_ + static_cast<uint32_t>(first_key - tile_.position) * step;
  kernels::dropout_rows(tile_.rows, width, rule_, row_keys_, index, step, x, width);
}

void TileDropout::drop_globals(int64_t first, int64_t count, int64_t width,
                               float* x) const noexcept {
  const std::vector<int64_t>& rows = global_rows_of(plan_, tile_.sequence);
  const int64_t begin = plan_.sequence_begin[static_cast<size_t>(tile_.sequence)];
  constexpr int64_t kPart = 64;
  uint32_t positions[kPart];
  for (int64_t c = 0; c < count; c += kPart) {
    const int64_t part = std::min(kPart, count - c);
    for (int64_t i = 0; i < part; ++i) {
      positions[i] = static_cast<uint32_t>(rows[static_cast<size_t>(first + c + i)] - begin);
    }
    kernels::dropout_rows(tile_.rows, part, rule_, row_keys_, positions, x + c, width);
  }
}

}  // namespace longformer
