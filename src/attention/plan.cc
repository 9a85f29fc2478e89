#include "attention/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "attention/align.h"
#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

// Key rows stay below this, so that position + window fits into 32 bits.
constexpr int64_t kMaxKeyRows = std::numeric_limits<int32_t>::max() - 2 * kMaxSequence;

// Where one residue class of a sequence lies among the key rows of a group. The hull reaches from
// the first to the last valid key; everything that decides bits is counted from hull_begin, so that
// masked tokens around it change nothing.
struct ResidueClass {
  int64_t hull_begin = 0;
  int64_t hull_end = 0;  // hull_begin where no key is valid
  int64_t rounded_end =
      0;  // hull_begin plus the hull rounded up to kKeyAlign; never past the class's own rows
  int64_t excluded_begin = 0;  // into AttentionPlan::excluded
  int64_t excluded_end = 0;
};

// How the rows of one sequence are cut.
struct Cut {
  int64_t begin = 0;  // rows of the batch
  int64_t hull_begin = 0;
  int64_t hull_end = 0;
  int64_t end = 0;
  int64_t query_rows = 0;
  int64_t block_rows = 0;
};

class Compiler {
 public:
  explicit Compiler(const AttentionPattern& pattern) {
    plan_.pattern = pattern;
    const std::optional<Window>& window = pattern.window;
    left_ = window ? std::min(window->left, kMaxSequence) : kMaxSequence;
    right_ = window ? std::min(window->right, kMaxSequence) : kMaxSequence;
  }

  AttentionPlan run() {
    mark_rows();
    make_groups();
    classes_.resize(plan_.groups.size());
    for (size_t g = 0; g < plan_.groups.size(); ++g) lay_out_group(g);
    for (size_t s = 0; s < plan_.pattern.lengths.size(); ++s) cut_sequence(s);
    for (size_t s = 0; s < plan_.pattern.lengths.size(); ++s) add_global_rows(s);
    return std::move(plan_);
  }

 private:
  int64_t begin_of(size_t sequence) const { return plan_.sequence_begin[sequence]; }
  int64_t end_of(size_t sequence) const { return plan_.sequence_begin[sequence + 1]; }

  void mark_rows() {
    const AttentionPattern& pattern = plan_.pattern;
    plan_.sequence_begin.push_back(0);
    for (const int64_t length : pattern.lengths) {
      plan_.rows += length;
      if (plan_.rows > kMaxKeyRows) refuse_rows(plan_.rows);
      plan_.sequence_begin.push_back(plan_.rows);
    }
    plan_.valid_row.assign(static_cast<size_t>(plan_.rows), pattern.valid.empty() ? 1 : 0);
    for (size_t s = 0; s < pattern.valid.size(); ++s) {
      for (const Interval& range : pattern.valid[s]) {
        std::fill(plan_.valid_row.begin() + begin_of(s) + range.begin,
                  plan_.valid_row.begin() + begin_of(s) + range.end, uint8_t{1});
      }
    }
    global_row_.assign(static_cast<size_t>(plan_.rows), 0);
    for (size_t s = 0; s < pattern.global.size(); ++s) {
      for (const int64_t position : pattern.global[s]) {
        const auto row = static_cast<size_t>(begin_of(s) + position);
        global_row_[row] = plan_.valid_row[row];
      }
    }
  }

  [[noreturn]] static void refuse_rows(int64_t rows) {
    throw Error(ErrorCode::kInvalidArgument,
                "the batch needs " + std::to_string(rows) + " key rows; at most " +
                    std::to_string(kMaxKeyRows) + " can be addressed: give fewer sequences at once",
                "attention pattern");
  }

  void make_groups() {
    const AttentionPattern& pattern = plan_.pattern;
    std::map<int64_t, std::vector<int32_t>> heads;
    for (int64_t h = 0; h < pattern.heads; ++h) {
      heads[pattern.dilation.empty() ? 1 : pattern.dilation[static_cast<size_t>(h)]].push_back(
          static_cast<int32_t>(h));
    }
    plan_.head_group.resize(static_cast<size_t>(pattern.heads));
    for (auto& [dilation, members] : heads) {
      for (const int32_t h : members) {
        plan_.head_group[static_cast<size_t>(h)] = static_cast<int32_t>(plan_.groups.size());
      }
      HeadGroup group;
      group.dilation = dilation;
      group.heads = std::move(members);
      plan_.groups.push_back(std::move(group));
    }
  }

  void lay_out_group(size_t g) {
    HeadGroup& group = plan_.groups[g];
    const size_t sequences = plan_.pattern.lengths.size();
    group.key_row.resize(static_cast<size_t>(plan_.rows));
    group.query_row.resize(static_cast<size_t>(plan_.rows));
    group.global_key_rows.resize(sequences);
    classes_[g].resize(sequences);
    int64_t next = 0;
    for (size_t s = 0; s < sequences; ++s) {
      const int64_t residues = std::min(group.dilation, plan_.pattern.lengths[s]);
      for (int64_t r = 0; r < residues; ++r) {
        next = lay_out_class(group, begin_of(s) + r, end_of(s), next, classes_[g][s]);
      }
      for (int64_t row = begin_of(s); row < end_of(s); ++row) {
        if (global_row_[static_cast<size_t>(row)] != 0) {
          group.global_key_rows[s].push_back(group.key_row[static_cast<size_t>(row)]);
        }
      }
    }
    plan_.key_rows = std::max(plan_.key_rows, next);
    check_index(plan_.excluded.size());
  }

  static void check_index(size_t size) {
    if (size <= static_cast<size_t>(std::numeric_limits<int32_t>::max())) return;
    throw Error(ErrorCode::kInvalidArgument,
                "the plan needs a list of " + std::to_string(size) +
                    " entries, more than 32 bits count: give fewer sequences at once",
                "attention pattern");
  }

  // Rows first_row, first_row + dilation, … below end_row take key rows from `first_key` on.
  // Returns the next free one.
  int64_t lay_out_class(HeadGroup& group, int64_t first_row, int64_t end_row, int64_t first_key,
                        std::vector<ResidueClass>& classes) {
    ResidueClass place;
    int64_t key = first_key;
    bool any = false;
    for (int64_t row = first_row; row < end_row; row += group.dilation, ++key) {
      if (key >= kMaxKeyRows) refuse_rows(key + 1);
      group.key_row[static_cast<size_t>(row)] = static_cast<int32_t>(key);
      if (plan_.valid_row[static_cast<size_t>(row)] == 0) continue;
      if (!any) place.hull_begin = key;
      any = true;
      place.hull_end = key + 1;
    }
    if (!any) place.hull_begin = place.hull_end = first_key;
    place.rounded_end = place.hull_begin + round_up(place.hull_end - place.hull_begin, kKeyAlign);
    place.excluded_begin = static_cast<int64_t>(plan_.excluded.size());
    for (int64_t k = place.hull_begin; k < place.hull_end; ++k) {
      const auto row = static_cast<size_t>(first_row + (k - first_key) * group.dilation);
      if (plan_.valid_row[row] == 0 || global_row_[row] != 0) {
        plan_.excluded.push_back(static_cast<int32_t>(k));
      }
    }
    place.excluded_end = static_cast<int64_t>(plan_.excluded.size());
    classes.push_back(place);
    return round_up(std::max(key, place.rounded_end), kKeyAlign);
  }

  // Blocks are cut at multiples of block_rows from the first valid row, in both directions, and
  // where the hull ends: the blocks of the hull are the same whatever masked tokens stand around
  // it.
  void cut_sequence(size_t s) {
    Cut cut;
    cut.begin = begin_of(s);
    cut.end = end_of(s);
    cut.hull_begin = cut.begin;
    while (cut.hull_begin < cut.end && !valid(cut.hull_begin)) ++cut.hull_begin;
    if (cut.hull_begin == cut.end) cut.hull_begin = cut.begin;
    cut.hull_end = cut.end;
    while (cut.hull_end > cut.hull_begin && !valid(cut.hull_end - 1)) --cut.hull_end;
    const bool short_hull = cut.hull_end - cut.hull_begin <= kShortLength;
    cut.query_rows = short_hull ? kShortQueryRows : kQueryRows;
    cut.block_rows = cut.query_rows * (plan_.groups.back().dilation > 1 ? 2 : 1);
    hulls_.push_back({cut.hull_begin, cut.hull_end});

    const int64_t before = cut.hull_begin - cut.begin;
    int64_t row = cut.hull_begin - round_up(before, cut.block_rows);
    for (; row < cut.hull_begin; row += cut.block_rows) {
      add_block(s, cut, std::max(row, cut.begin), row + cut.block_rows);
    }
    for (; row < cut.hull_end; row += cut.block_rows) {
      add_block(s, cut, row, std::min(row + cut.block_rows, cut.hull_end));
    }
    for (row = cut.hull_end; row < cut.end; row += cut.block_rows) {
      add_block(s, cut, row, std::min(row + cut.block_rows, cut.end));
    }
  }

  bool valid(int64_t row) const { return plan_.valid_row[static_cast<size_t>(row)] != 0; }

  void add_block(size_t s, const Cut& cut, int64_t begin, int64_t end) {
    RowBlock block;
    block.begin = begin;
    block.end = end;
    block.first_tile = static_cast<int32_t>(plan_.tiles.size());
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const int64_t step = plan_.groups[g].dilation;
      for (int64_t first = begin; first < std::min(begin + step, end); ++first) {
        for (int64_t row = first; row < end; row += cut.query_rows * step) {
          const int64_t left_over = (end - row + step - 1) / step;
          add_tile(s, g, row, std::min(left_over, cut.query_rows));
        }
      }
    }
    block.tile_count = static_cast<int32_t>(plan_.tiles.size()) - block.first_tile;
    plan_.blocks.push_back(block);
    check_index(plan_.ranges.size());
  }

  void add_tile(size_t s, size_t g, int64_t first_row, int64_t rows) {
    HeadGroup& group = plan_.groups[g];
    const ResidueClass& place =
        classes_[g][s][static_cast<size_t>((first_row - begin_of(s)) % group.dilation)];
    QueryTile tile;
    tile.sequence = static_cast<int32_t>(s);
    tile.group = static_cast<int32_t>(g);
    tile.first_row = first_row;
    tile.step = static_cast<int32_t>(group.dilation);
    tile.rows = static_cast<int32_t>(rows);
    tile.position = group.key_row[static_cast<size_t>(first_row)];
    tile.query_row = group.query_rows;
    for (int64_t r = 0; r < rows; ++r) {
      group.query_row[static_cast<size_t>(first_row + r * group.dilation)] =
          static_cast<int32_t>(group.query_rows + r);
    }
    group.query_rows += round_up(rows, kRowAlign);
    check_index(static_cast<size_t>(group.query_rows));
    tile.left = static_cast<int32_t>(left_);
    tile.right = static_cast<int32_t>(right_);
    tile.limit_begin = static_cast<int32_t>(place.hull_begin);
    tile.limit_end = static_cast<int32_t>(place.hull_end);
    tile.first_range = static_cast<int32_t>(plan_.ranges.size());
    tile.first_excluded = static_cast<int32_t>(place.excluded_begin);
    add_ranges(place, tile);
    plan_.tiles.push_back(tile);
  }

  // The keys that any query of the tile may see, rounded up to kKeyAlign: to the right, and where
  // that would leave the class's rounded hull, to the left.
  void add_ranges(const ResidueClass& place, QueryTile& tile) {
    const int64_t seen_begin = std::max<int64_t>(tile.position - left_, place.hull_begin);
    const int64_t seen_end = std::min(tile.position + tile.rows + right_, place.hull_end);
    if (seen_begin >= seen_end) return;
    const int64_t span = round_up(seen_end - seen_begin, kKeyAlign);
    const int64_t span_begin = std::min(seen_begin, place.rounded_end - span);
    for (int64_t begin = span_begin; begin < span_begin + span; begin += kStripKeys) {
      KeyRange range;
      range.begin = static_cast<int32_t>(begin);
      range.end = static_cast<int32_t>(std::min(begin + kStripKeys, span_begin + span));
      const int64_t counted_begin = std::max(begin, seen_begin);
      const int64_t counted_end = std::min<int64_t>(range.end, seen_end);
      const int64_t excluded = excluded_between(place, counted_begin, counted_end);
      if (counted_end - counted_begin <= excluded) continue;
      range.full = excluded == 0 && is_full(tile, range);
      plan_.ranges.push_back(range);
    }
    tile.range_count = static_cast<int32_t>(plan_.ranges.size()) - tile.first_range;
    if (tile.range_count == 0) return;
    const auto first =
        excluded_at(place, plan_.ranges[static_cast<size_t>(tile.first_range)].begin);
    tile.first_excluded = static_cast<int32_t>(first);
    tile.excluded_count = static_cast<int32_t>(excluded_at(place, plan_.ranges.back().end) - first);
  }

  // Index of the first excluded key row of the class at or after `key`.
  int64_t excluded_at(const ResidueClass& place, int64_t key) const {
    const auto begin = plan_.excluded.begin();
    return std::lower_bound(begin + place.excluded_begin, begin + place.excluded_end, key) - begin;
  }

  int64_t excluded_between(const ResidueClass& place, int64_t begin, int64_t end) const {
    return begin < end ? excluded_at(place, end) - excluded_at(place, begin) : 0;
  }

  bool is_full(const QueryTile& tile, const KeyRange& range) const {
    if (range.begin < std::max<int64_t>(tile.limit_begin, tile.position + tile.rows - 1 - left_)) {
      return false;
    }
    if (range.end > std::min<int64_t>(tile.limit_end, tile.position + right_ + 1)) return false;
    if (plan_.pattern.masked_query == MaskedQuery::kAttend) return true;
    for (int64_t r = 0; r < tile.rows; ++r) {
      if (!valid(tile.first_row + r * tile.step)) return false;
    }
    return true;
  }

  void add_global_rows(size_t s) {
    GlobalRows global;
    global.sequence = static_cast<int32_t>(s);
    for (int64_t row = begin_of(s); row < end_of(s); ++row) {
      if (global_row_[static_cast<size_t>(row)] != 0) global.rows.push_back(row);
    }
    if (global.rows.empty()) return;
    const Interval hull = hulls_[s];
    for (int64_t begin = hull.begin; begin < hull.end; begin += kGlobalBlock) {
      global.blocks.push_back({begin, std::min(begin + kGlobalBlock, hull.end)});
    }
    plan_.global_rows.push_back(std::move(global));
  }

  AttentionPlan plan_;
  int64_t left_ = 0;
  int64_t right_ = 0;
  std::vector<uint8_t> global_row_;                              // [rows]: valid and global
  std::vector<std::vector<std::vector<ResidueClass>>> classes_;  // [group][sequence][residue]
  std::vector<Interval> hulls_;                                  // [sequence]: rows of the batch
};

}  // namespace

AttentionPlan compile(const AttentionPattern& pattern) {
  validate(pattern);
  refuse_unsupported(pattern);
  return Compiler(pattern).run();
}

}  // namespace longformer
