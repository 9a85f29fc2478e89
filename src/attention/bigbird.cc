#include "attention/bigbird.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

using Lists = std::vector<std::vector<std::vector<int32_t>>>;  // as Blocks::extra

void check_range(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::string(field) + " is " + std::to_string(value) + "; allowed are " +
                  std::to_string(low) + " to " + std::to_string(high),
              "BigBird pattern");
}

int64_t block_count(const BigBirdSettings& settings) {
  return (settings.length + settings.block_size - 1) / settings.block_size;
}

void check_lists(const BigBirdSettings& settings) {
  constexpr int64_t kListCost = 8;  // an empty list takes what so many entries take
  const int64_t entries =
      settings.heads * block_count(settings) * (settings.random_blocks + kListCost);
  if (entries <= kMaxListedBlocks) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::to_string(settings.random_blocks) + " random blocks for each of " +
                  std::to_string(block_count(settings)) + " blocks and " +
                  std::to_string(settings.heads) +
                  " heads are more than is held at once; take larger blocks or fewer heads",
              "BigBird pattern");
}

// NumPy's legacy generator: MT19937, bounded numbers by masking and rejection.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : engine_(seed) {}
  void shuffle(std::vector<int32_t>& values) {
    for (size_t i = values.size(); i-- > 1;) std::swap(values[i], values[up_to(i)]);
  }

 private:
  size_t up_to(size_t last) {
    size_t mask = last;
    for (const int shift : {1, 2, 4, 8, 16}) mask |= mask >> shift;
    for (;;) {
      const size_t value = engine_() & mask;
      if (value <= last) return value;
    }
  }
  std::mt19937 engine_;
};

void check_drawn(size_t count, int64_t wanted, int64_t row) {
  if (static_cast<int64_t>(count) >= wanted) return;
  throw Error(ErrorCode::kInvalidArgument,
              "random_blocks is " + std::to_string(wanted) + ", but query block " +
                  std::to_string(row) + " has only " + std::to_string(count) +
                  " to draw from; take fewer, or smaller blocks",
              "BigBird pattern");
}

// The plan of the usual training lengths: drawn for the longest one and cut, head by head.
Lists fixed_plan(const BigBirdSettings& settings, NumpyRandom& random) {
  constexpr int64_t kLastToken = 1024;  // candidates come from the first ones
  const int64_t size = settings.block_size;
  const int64_t planned = settings.max_length / size;
  const int64_t last = kLastToken > 2 * size ? kLastToken / size - 1 : planned - 1;
  std::vector<int32_t> middle(static_cast<size_t>(std::max<int64_t>(planned - 2, 0)));
  std::iota(middle.begin(), middle.end(), 1);
  const int64_t rows = block_count(settings);
  Lists lists(static_cast<size_t>(settings.heads),
              std::vector<std::vector<int32_t>>(static_cast<size_t>(rows)));
  const auto place = [&](int64_t index) {
    return middle.begin() + std::clamp<int64_t>(index, 0, static_cast<int64_t>(middle.size()));
  };
  for (auto& head : lists) {
    for (int64_t i = 1; i < planned - 1; ++i) {
      const int64_t start = i - 2;
      int64_t gap_begin = 0, gap_end = 0;  // of the candidates middle[0, last)
      if (i <= 2) {
        gap_end = i + 1;
      } else if (i < planned - 3 && start <= last) {
        gap_begin = start;
        gap_end = i + 1 == last ? last : i + 1;
      }
      std::vector<int32_t> candidates(place(0), place(std::min(gap_begin, last)));
      if (gap_end < last) candidates.insert(candidates.end(), place(gap_end), place(last));
      random.shuffle(candidates);
      if (i >= rows - 1) continue;  // drawn all the same: later heads follow in the sequence
      check_drawn(candidates.size(), settings.random_blocks, i);
      candidates.resize(static_cast<size_t>(settings.random_blocks));
      head[static_cast<size_t>(i)] = std::move(candidates);
    }
  }
  return lists;
}

// The plan of other lengths: the blocks in one or two segments, each row with its share from each.
class SegmentPlan {
 public:
  SegmentPlan(const BigBirdSettings& settings, NumpyRandom& random)
      : settings_(settings), random_(random), rows_(block_count(settings)) {
    lists_.resize(static_cast<size_t>(settings.heads),
                  std::vector<std::vector<int32_t>>(static_cast<size_t>(rows_)));
  }

  Lists draw() && {
    const int64_t wanted = settings_.random_blocks;
    std::array<int64_t, 2> ends = {rows_, rows_}, counts = {wanted, 0};
    if (2 * wanted + 5 < rows_) {
      ends[0] = 2 * wanted + 5;
    } else if (wanted + 5 < rows_) {
      ends[0] = wanted + 5;
      counts = {wanted / 2, wanted - wanted / 2};
    }
    draw_rows(1, ends[0], 0, ends[0], counts[0]);
    if (ends[0] < rows_) {
      if (counts[1] > 0) draw_rows(1, ends[0], ends[0], ends[1], counts[1]);
      if (counts[0] > 0) draw_rows(ends[0], ends[1], 0, ends[0], counts[0]);
      if (counts[1] > 0) draw_rows(ends[0], ends[1], ends[0], ends[1], counts[1]);
    }
    for (auto& head : lists_) head.back().clear();  // the last row sees everything
    return std::move(lists_);
  }

 private:
  void draw_rows(int64_t first_row, int64_t end_row, int64_t low, int64_t high, int64_t wanted) {
    std::vector<int32_t> order(static_cast<size_t>(high - low));
    for (int64_t row = first_row; row < end_row; ++row) {
      for (auto& head : lists_) {
        std::iota(order.begin(), order.end(), static_cast<int32_t>(low));
        random_.shuffle(order);
        keep(order, row, high, wanted, head[static_cast<size_t>(row)]);
      }
    }
  }

  // The first `wanted` blocks of `order` that the row does not see anyway.
  void keep(const std::vector<int32_t>& order, int64_t row, int64_t high, int64_t wanted,
            std::vector<int32_t>& list) const {
    int64_t kept = 0;
    for (size_t n = 0; n < order.size() && kept < wanted; ++n) {
      const int64_t block = order[n];
      const bool seen = std::abs(block - row) <= 1 || block == 0 || block == high - 1 ||
                        (row == 1 && block == high - 2) || (row == high - 2 && block == 1);
      if (seen) continue;
      list.push_back(order[n]);
      ++kept;
    }
    if (row < rows_ - 1) check_drawn(static_cast<size_t>(kept), wanted, row);
  }

  const BigBirdSettings& settings_;
  NumpyRandom& random_;
  int64_t rows_;
  Lists lists_;
};

Lists random_lists(const BigBirdSettings& settings) {
  const int64_t rows = block_count(settings);
  if (settings.random == RandomBlocks::kFirstBlock) {
    const std::vector<int32_t> first(static_cast<size_t>(settings.random_blocks), 0);
    std::vector<std::vector<int32_t>> lists(static_cast<size_t>(rows), first);
    lists.front().clear();
    lists.back().clear();
    return Lists(static_cast<size_t>(settings.heads), lists);
  }
  NumpyRandom random(settings.seed);
  const int64_t padded = rows * settings.block_size;
  const bool usual = padded == 1024 || padded == 3072 || padded == 4096;
  return usual && padded <= settings.max_length ? fixed_plan(settings, random)
                                                : SegmentPlan(settings, random).draw();
}

}  // namespace

bool bigbird_attends_fully(const BigBirdSettings& settings) {
  return settings.length <= (5 + 2 * settings.random_blocks) * settings.block_size;
}

AttentionPattern bigbird_pattern(const BigBirdSettings& settings) {
  check_range("length", settings.length, 1, kMaxSequence);
  check_range("block_size", settings.block_size, 1, kMaxSequence);
  check_range("random_blocks", settings.random_blocks, 0, kMaxListedBlocks);
  check_range("heads", settings.heads, 1, kMaxHidden);
  check_range("max_length", settings.max_length, 1, kMaxSequence);
  AttentionPattern pattern;
  pattern.heads = settings.heads;
  pattern.lengths = {settings.length};
  pattern.global_projections = false;
  if (bigbird_attends_fully(settings)) return pattern;
  const int64_t last = (block_count(settings) - 1) * settings.block_size;
  std::vector<int64_t> global(static_cast<size_t>(settings.block_size + settings.length - last));
  std::iota(global.begin(), global.begin() + settings.block_size, 0);
  std::iota(global.begin() + settings.block_size, global.end(), last);
  pattern.global = {std::move(global)};
  pattern.blocks = Blocks{.size = settings.block_size, .reach = 1, .extra = {}};
  if (settings.random_blocks > 0) {
    check_lists(settings);
    pattern.blocks->extra = random_lists(settings);
  }
  return pattern;
}

}  // namespace longformer
