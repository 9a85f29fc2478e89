#include "attention/pattern.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message, "attention pattern");
}

std::string indexed(std::string_view field, size_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

void validate_lengths(const AttentionPattern& pattern) {
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    const int64_t length = pattern.lengths[s];
    if (length < 0 || length > kMaxSequence) {
      refuse(indexed("lengths", s) + " is " + std::to_string(length) + "; allowed are 0 to " +
             std::to_string(kMaxSequence) + " tokens");
    }
  }
}

void validate_window(const AttentionPattern& pattern) {
  if (!pattern.window) return;
  if (pattern.window->left < 0) {
    refuse("window.left is " + std::to_string(pattern.window->left) + "; allowed is 0 or more");
  }
  if (pattern.window->right < 0) {
    refuse("window.right is " + std::to_string(pattern.window->right) + "; allowed is 0 or more");
  }
}

void validate_dilation(const AttentionPattern& pattern) {
  const size_t count = pattern.dilation.size();
  if (count != 0 && count != static_cast<size_t>(pattern.heads)) {
    refuse("dilation has " + std::to_string(count) + " entries for " +
           std::to_string(pattern.heads) + " heads; give one for each head, or none");
  }
  for (size_t h = 0; h < count; ++h) {
    if (pattern.dilation[h] < 1 || pattern.dilation[h] > kMaxSequence) {
      refuse(indexed("dilation", h) + " is " + std::to_string(pattern.dilation[h]) +
             "; allowed are 1 (no dilation) to " + std::to_string(kMaxSequence));
    }
  }
}

void validate_list_size(const AttentionPattern& pattern, std::string_view field, size_t count) {
  if (count != 0 && count != pattern.lengths.size()) {
    refuse(std::string(field) + " has " + std::to_string(count) + " lists for " +
           std::to_string(pattern.lengths.size()) +
           " sequences; give one for each sequence, or none");
  }
}

void validate_global(const AttentionPattern& pattern) {
  validate_list_size(pattern, "global", pattern.global.size());
  for (size_t s = 0; s < pattern.global.size(); ++s) {
    int64_t previous = -1;
    for (size_t g = 0; g < pattern.global[s].size(); ++g) {
      const int64_t position = pattern.global[s][g];
      const std::string name = indexed(indexed("global", s), g);
      if (position < 0 || position >= pattern.lengths[s]) {
        refuse(name + " is " + std::to_string(position) + ", outside its sequence of " +
               std::to_string(pattern.lengths[s]) + " tokens");
      }
      if (position <= previous) {
        refuse(name + " is " + std::to_string(position) + " after " + std::to_string(previous) +
               "; positions must increase");
      }
      previous = position;
    }
  }
}

void validate_valid(const AttentionPattern& pattern) {
  validate_list_size(pattern, "valid", pattern.valid.size());
  for (size_t s = 0; s < pattern.valid.size(); ++s) {
    int64_t previous_end = 0;
    for (size_t r = 0; r < pattern.valid[s].size(); ++r) {
      const Interval& range = pattern.valid[s][r];
      const std::string name = indexed(indexed("valid", s), r) + " is [" +
                               std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
      if (range.begin < 0 || range.end < range.begin || range.end > pattern.lengths[s]) {
        refuse(name + ", not a range inside its sequence of " + std::to_string(pattern.lengths[s]) +
               " tokens");
      }
      if (range.begin < previous_end) {
        refuse(name + " after a range that ends at " + std::to_string(previous_end) +
               "; ranges must increase and not overlap");
      }
      previous_end = range.end;
    }
  }
}

void validate_grid(const AttentionPattern& pattern) {
  if (!pattern.grid) return;
  const Grid& grid = *pattern.grid;
  const auto check_side = [](const char* field, int64_t value) {
    if (value < 1 || value > kMaxSequence) {
      refuse(std::string("grid.") + field + " is " + std::to_string(value) + "; allowed are 1 to " +
             std::to_string(kMaxSequence));
    }
  };
  check_side("height", grid.height);
  check_side("width", grid.width);
  check_side("box_height", grid.box_height);
  check_side("box_width", grid.box_width);
  const int64_t smaller = std::min(grid.box_height, grid.box_width);
  if (grid.shift < 0 || grid.shift >= smaller) {
    refuse("grid.shift is " + std::to_string(grid.shift) +
           "; allowed are 0 to the smaller side of a box less one, " + std::to_string(smaller - 1));
  }
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    if (pattern.lengths[s] == grid.height * grid.width) continue;
    refuse(indexed("lengths", s) + " is " + std::to_string(pattern.lengths[s]) + "; a grid of " +
           std::to_string(grid.height) + "x" + std::to_string(grid.width) + " has " +
           std::to_string(grid.height * grid.width) + " tokens");
  }
  const auto is_step = [](int64_t dilation) { return dilation != 1; };
  if (pattern.window || pattern.blocks ||
      std::any_of(pattern.dilation.begin(), pattern.dilation.end(), is_step)) {
    refuse(
        "grid stands together with a window, a dilation or blocks; what a token sees is its box "
        "alone");
  }
}

void validate_block_list(const std::string& name, const std::vector<int32_t>& list, int64_t count) {
  for (size_t n = 0; n < list.size(); ++n) {
    if (list[n] >= 0 && list[n] < count) continue;
    refuse(indexed(name, n) + " is " + std::to_string(list[n]) + "; allowed are 0 to " +
           std::to_string(count - 1));
  }
}

void validate_blocks(const AttentionPattern& pattern) {
  if (!pattern.blocks) return;
  const Blocks& blocks = *pattern.blocks;
  if (blocks.size < 1 || blocks.size > kMaxSequence) {
    refuse("blocks.size is " + std::to_string(blocks.size) + "; allowed are 1 to " +
           std::to_string(kMaxSequence) + " tokens");
  }
  if (blocks.reach && *blocks.reach < 0) {
    refuse("blocks.reach is " + std::to_string(*blocks.reach) + "; allowed is 0 or more");
  }
  if (blocks.reach && pattern.window) {
    refuse("blocks.reach stands together with a window; give one of them");
  }
  if (blocks.extra.empty()) return;
  if (blocks.extra.size() != static_cast<size_t>(pattern.heads)) {
    refuse("blocks.extra has lists for " + std::to_string(blocks.extra.size()) + " of " +
           std::to_string(pattern.heads) + " heads; give one for each head, or none");
  }
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    const int64_t count = (pattern.lengths[s] + blocks.size - 1) / blocks.size;
    for (size_t h = 0; h < blocks.extra.size(); ++h) {
      const std::string name = indexed("blocks.extra", h);
      if (static_cast<int64_t>(blocks.extra[h].size()) != count) {
        refuse(name + " has " + std::to_string(blocks.extra[h].size()) + " lists; " +
               indexed("lengths", s) + " = " + std::to_string(pattern.lengths[s]) + " has " +
               std::to_string(count) + " blocks");
      }
      for (size_t b = 0; b < blocks.extra[h].size(); ++b) {
        validate_block_list(indexed(name, b), blocks.extra[h][b], count);
      }
    }
  }
}

void validate_other(const AttentionPattern& pattern) {
  if (pattern.memory.length < 0) {
    refuse("memory.length is " + std::to_string(pattern.memory.length) + "; allowed is 0 or more");
  }
}

std::string describe_dilation(const AttentionPattern& pattern) {
  if (pattern.dilation.empty()) return "dilation 1";
  std::string text = "dilation ";
  for (size_t first = 0; first < pattern.dilation.size();) {
    size_t end = first + 1;
    while (end < pattern.dilation.size() && pattern.dilation[end] == pattern.dilation[first]) ++end;
    if (first > 0) text += ", ";
    text += std::to_string(pattern.dilation[first]);
    text += end == first + 1 ? " (head " : " (heads ";
    text += std::to_string(first);
    if (end > first + 1) text += "-" + std::to_string(end - 1);
    text += ")";
    first = end;
  }
  return text;
}

std::string plural(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string describe_global(const AttentionPattern& pattern) {
  int64_t count = 0;
  for (const auto& positions : pattern.global) count += static_cast<int64_t>(positions.size());
  if (count == 0) return "no global tokens";
  return "global " + plural(count, "token") +
         (pattern.global_projections ? "" : " with shared projections");
}

std::string describe_sequences(const AttentionPattern& pattern) {
  std::string text = plural(static_cast<int64_t>(pattern.lengths.size()), "sequence");
  if (pattern.lengths.empty()) return text;
  const auto [shortest, longest] =
      std::minmax_element(pattern.lengths.begin(), pattern.lengths.end());
  text += " of " + std::to_string(*shortest);
  if (*shortest != *longest) text += " to " + std::to_string(*longest);
  return text;
}

std::string describe_masked(const AttentionPattern& pattern) {
  int64_t masked = 0;
  for (size_t s = 0; s < pattern.valid.size(); ++s) {
    masked += pattern.lengths[s];
    for (const Interval& range : pattern.valid[s]) masked -= range.end - range.begin;
  }
  if (masked == 0) return {};
  return ", " + plural(masked, "masked token") +
         (pattern.masked_query == MaskedQuery::kZero ? " giving zero" : " attending");
}

std::string_view bias_name(BiasKind kind) {
  switch (kind) {
    case BiasKind::kNone:
      return "none";
    case BiasKind::kTable:
      return "table";
    case BiasKind::kDecomposed:
      return "decomposed";
    case BiasKind::kRelativeSinusoid:
      return "relative sinusoid";
    case BiasKind::kSlopes:
      return "slopes";
  }
  return "unknown";
}

std::string describe_blocks(const Blocks& blocks) {
  std::string text = "blocks of " + std::to_string(blocks.size);
  if (blocks.reach) text += " reaching " + plural(*blocks.reach, "block") + " to each side";
  size_t most = 0;
  for (const auto& head : blocks.extra) {
    for (const std::vector<int32_t>& list : head) most = std::max(most, list.size());
  }
  if (most > 0) text += " and up to " + std::to_string(most) + " more";
  return text;
}

std::string describe_near(const AttentionPattern& pattern) {
  if (pattern.grid) {
    const Grid& grid = *pattern.grid;
    return "grid " + std::to_string(grid.height) + "x" + std::to_string(grid.width) +
           " in boxes of " + std::to_string(grid.box_height) + "x" +
           std::to_string(grid.box_width) +
           (grid.shift > 0 ? " shifted by " + std::to_string(grid.shift) : "");
  }
  if (pattern.blocks && !pattern.window) return describe_blocks(*pattern.blocks);
  return (pattern.window ? "window " + std::to_string(pattern.window->left) + "+" +
                               std::to_string(pattern.window->right)
                         : "full attention") +
         ", " + describe_dilation(pattern) +
         (pattern.blocks ? ", " + describe_blocks(*pattern.blocks) : "");
}

std::string describe_extras(const AttentionPattern& pattern) {
  std::string text;
  if (pattern.memory.length > 0) text += ", memory " + std::to_string(pattern.memory.length);
  if (pattern.memory.cross_source) text += ", keys of another sequence";
  if (pattern.bias != BiasKind::kNone) text += ", bias " + std::string(bias_name(pattern.bias));
  return text;
}

bool in_window(const AttentionPattern& pattern, int64_t head, int64_t i, int64_t j) {
  const int64_t dilation = dilation_of(pattern, head);
  if ((j - i) % dilation != 0) return false;
  const int64_t steps = (j - i) / dilation;
  return !pattern.window || (-steps <= pattern.window->left && steps <= pattern.window->right);
}

bool contains(const Interval& range, int64_t position) {
  return range.begin <= position && position < range.end;
}

// One axis of region_of(): the rows (or columns) that share a box with row `at` of `extent`, before
// the border is cut off.
Interval shared_range(int64_t extent, int64_t box, int64_t shift, int64_t at) {
  const int64_t padded = (extent + box - 1) / box * box;
  const int64_t rolled = (at - shift + padded) % padded;
  int64_t begin = rolled / box * box;
  int64_t end = begin + box;
  if (shift > 0 && end == padded) {  // rolled together from both ends
    (rolled < padded - shift ? end : begin) = padded - shift;
  }
  if (begin == padded - shift) return {0, end - begin};
  return {begin + shift, end + shift};
}

bool is_near(const AttentionPattern& pattern, int64_t head, int64_t i, int64_t j) {
  if (pattern.grid) {
    const Region region = region_of(*pattern.grid, i);
    return contains(region.rows, j / pattern.grid->width) &&
           contains(region.columns, j % pattern.grid->width);
  }
  if (!pattern.blocks || pattern.window) return in_window(pattern, head, i, j);
  const Blocks& blocks = *pattern.blocks;
  return blocks.reach && std::abs(i / blocks.size - j / blocks.size) <= *blocks.reach;
}

int64_t times_listed(const Blocks& blocks, int64_t head, int64_t i, int64_t j) {
  if (blocks.extra.empty()) return 0;
  const std::vector<int32_t>& list =
      blocks.extra[static_cast<size_t>(head)][static_cast<size_t>(i / blocks.size)];
  return std::count(list.begin(), list.end(), j / blocks.size);
}

bool counts_nothing(const AttentionPattern& pattern, int64_t sequence, int64_t i) {
  return pattern.masked_query == MaskedQuery::kZero && !is_valid(pattern, sequence, i);
}

}  // namespace

void validate(const AttentionPattern& pattern) {
  if (pattern.heads < 1 || pattern.heads > kMaxHidden) {
    refuse("heads is " + std::to_string(pattern.heads) + "; allowed are 1 to " +
           std::to_string(kMaxHidden));
  }
  validate_lengths(pattern);
  validate_window(pattern);
  validate_dilation(pattern);
  validate_global(pattern);
  validate_valid(pattern);
  validate_grid(pattern);
  validate_blocks(pattern);
  validate_other(pattern);
}

void refuse_unsupported(const AttentionPattern& pattern) {
  std::string field;
  if (pattern.grid) field = "grid";
  if (pattern.blocks) field = "blocks";
  if (pattern.memory.length > 0) field = "memory.length = " + std::to_string(pattern.memory.length);
  if (pattern.memory.cross_source) field = "memory.cross_source";
  if (pattern.bias != BiasKind::kNone) field = "bias = " + std::string(bias_name(pattern.bias));
  if (field.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              field + " is not computed by this version; leave the field at its default",
              "attention pattern");
}

std::string to_string(const AttentionPattern& pattern) {
  std::string text = describe_near(pattern);
  text += ", " + describe_global(pattern);
  text += ", " + describe_sequences(pattern);
  text += describe_masked(pattern);
  return text + describe_extras(pattern);
}

bool is_valid(const AttentionPattern& pattern, int64_t sequence, int64_t position) {
  if (pattern.valid.empty()) return true;
  const std::vector<Interval>& ranges = pattern.valid[static_cast<size_t>(sequence)];
  return std::any_of(ranges.begin(), ranges.end(),
                     [position](const Interval& range) { return contains(range, position); });
}

bool is_global(const AttentionPattern& pattern, int64_t sequence, int64_t position) {
  if (pattern.global.empty() || !is_valid(pattern, sequence, position)) return false;
  const std::vector<int64_t>& positions = pattern.global[static_cast<size_t>(sequence)];
  return std::binary_search(positions.begin(), positions.end(), position);
}

int64_t count(const AttentionPattern& pattern, int64_t sequence, int64_t head, int64_t i,
              int64_t j) {
  if (!is_valid(pattern, sequence, j) || counts_nothing(pattern, sequence, i)) return 0;
  const bool once = is_global(pattern, sequence, i) || is_global(pattern, sequence, j) ||
                    is_near(pattern, head, i, j);
  return (once ? 1 : 0) + (pattern.blocks ? times_listed(*pattern.blocks, head, i, j) : 0);
}

int64_t padding_keys(const AttentionPattern& pattern, int64_t sequence, int64_t i) {
  if (!pattern.grid || counts_nothing(pattern, sequence, i) || is_global(pattern, sequence, i)) {
    return 0;
  }
  return region_of(*pattern.grid, i).padding;
}

Region region_of(const Grid& grid, int64_t token) {
  const auto size = [](const Interval& range) { return range.end - range.begin; };
  Region region;
  region.rows = shared_range(grid.height, grid.box_height, grid.shift, token / grid.width);
  region.columns = shared_range(grid.width, grid.box_width, grid.shift, token % grid.width);
  const int64_t places = size(region.rows) * size(region.columns);
  region.rows.end = std::min(region.rows.end, grid.height);
  region.columns.end = std::min(region.columns.end, grid.width);
  region.padding = places - size(region.rows) * size(region.columns);
  return region;
}

}  // namespace longformer
