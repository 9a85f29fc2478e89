#include "cli/pattern_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "cli/svg.h"

namespace longformer::cli {
namespace {

constexpr std::string_view kRamp = ".:-=+*#%@";

std::vector<int64_t> edges_of(int64_t length, int64_t cells) {
  cells = std::min(cells, length);
  std::vector<int64_t> edges;
  for (int64_t c = 0; c <= cells; ++c) edges.push_back(c * length / cells);
  return edges;
}

Cell cell_of(const PairCounts& counts, int64_t pairs) {
  Cell cell;
  if (counts.total() == 0) return cell;
  cell.kind = CellKind::kLocal;
  int64_t most = counts.local;
  if (counts.global > most) {
    cell.kind = CellKind::kGlobal;
    most = counts.global;
  }
  if (counts.listed >= most) cell.kind = CellKind::kListed;
  cell.share = std::min(1.0, static_cast<double>(counts.total()) / static_cast<double>(pairs));
  return cell;
}

char character_of(const Cell& cell, bool one_pair) {
  if (cell.kind == CellKind::kEmpty) return ' ';
  if (one_pair) {
    if (cell.kind == CellKind::kGlobal) return 'G';
    return cell.kind == CellKind::kListed ? 'R' : '#';
  }
  const auto last = static_cast<double>(kRamp.size() - 1);
  return kRamp[static_cast<size_t>(std::ceil(cell.share * last))];
}

std::string in_units(double value, int unit) {
  constexpr std::array<const char*, 5> kNames = {"", " k", " M", " G", " T"};
  char text[48];
  std::snprintf(text, sizeof text, "%.1f%s", value / std::pow(1000.0, unit),
                kNames[static_cast<size_t>(unit)]);
  return text;
}

// The unit of `value`, or a smaller one in which it is not shown as 0.0.
std::string in_units_up_to(double value, int unit) {
  while (unit > 1 && value > 0 && value / std::pow(1000.0, unit) < 0.05) --unit;
  return in_units(value, unit);
}

}  // namespace

PatternCounts count_pattern(const AttentionPattern& pattern, int64_t head) {
  PatternCounts counts;
  counts.length = pattern.lengths[0];
  counts.pairs = count_all(pattern, 0, head);
  counts.padding = CellCounter(pattern, 0, head).padding({0, counts.length});
  return counts;
}

PatternPicture picture_of(const AttentionPattern& pattern, int64_t head, int64_t rows,
                          int64_t columns) {
  PatternPicture picture;
  const int64_t length = pattern.lengths[0];
  picture.row_edges = edges_of(length, rows);
  picture.column_edges = edges_of(length, columns);
  const CellCounter counter(pattern, 0, head);
  for (size_t r = 0; r < picture.rows(); ++r) {
    const Interval queries = {picture.row_edges[r], picture.row_edges[r + 1]};
    const std::vector<PairCounts> counts = counter.strip(queries, picture.column_edges);
    for (size_t c = 0; c < counts.size(); ++c) {
      const int64_t keys = picture.column_edges[c + 1] - picture.column_edges[c];
      picture.cells.push_back(cell_of(counts[c], keys * (queries.end - queries.begin)));
    }
  }
  return picture;
}

std::string short_counts(const PatternCounts& counts) {
  constexpr int64_t kPlain = 100'000;
  const int64_t scores = counts.pairs.total();
  if (counts.full() < kPlain) {
    return grouped(scores) + " of " + grouped(counts.full()) + " scores";
  }
  const auto full = static_cast<double>(counts.full());
  int unit = 1;
  while (unit < 4 && full >= std::pow(1000.0, unit + 1)) ++unit;
  return in_units_up_to(static_cast<double>(scores), unit) + " of " + in_units(full, unit) +
         " scores";
}

std::string share_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100);
  return text;
}

std::string kind_name(const AttentionPattern& pattern, CellKind kind) {
  switch (kind) {
    case CellKind::kGlobal:
      return "global";
    case CellKind::kListed:
      return "random blocks";
    case CellKind::kLocal:
      if (pattern.grid) return "box";
      if (pattern.window) return "window";
      return pattern.blocks ? "block window" : "all tokens";
    case CellKind::kEmpty:
      break;
  }
  return "nothing";
}

std::vector<CellKind> kinds_of(const PatternCounts& counts) {
  std::vector<CellKind> kinds;
  if (counts.pairs.local > 0) kinds.push_back(CellKind::kLocal);
  if (counts.pairs.global > 0) kinds.push_back(CellKind::kGlobal);
  if (counts.pairs.listed > 0) kinds.push_back(CellKind::kListed);
  return kinds;
}

std::vector<std::string> ascii_drawing(const AttentionPattern& pattern, int64_t head,
                                       int64_t width) {
  const int64_t length = pattern.lengths[0];
  const std::string last = grouped(length - 1);
  const std::string query = "query ";
  const size_t margin = query.size() + last.size();
  const int64_t room = width - static_cast<int64_t>(margin) - 2;  // a bar on each side
  // A character is about twice as high as wide.
  const bool one_pair = length <= room;
  const size_t wide = 2 * length <= room ? 2 : 1;  // characters of a key
  const PatternPicture picture =
      picture_of(pattern, head, one_pair ? length : std::max<int64_t>(room / 2, 1), room);
  const size_t inner = picture.columns() * wide;
  std::vector<std::string> lines;
  std::string top = std::string(margin, ' ') + " key 0";
  if (length > 1 && inner >= last.size() + std::string_view("key 0 ").size()) {
    top += std::string(margin + 1 + inner - top.size() - last.size(), ' ') + last;
  }
  lines.push_back(top);
  for (size_t r = 0; r < picture.rows(); ++r) {
    const bool labelled = r == 0 || r + 1 == picture.rows() || r == picture.rows() / 2;
    std::string line = std::string(margin, ' ');
    if (labelled) {
      const std::string label = r + 1 == picture.rows() ? last : grouped(picture.row_edges[r]);
      line.replace(margin - label.size(), label.size(), label);
      if (r == 0) line.replace(0, query.size(), query);
    }
    line += '|';
    for (size_t c = 0; c < picture.columns(); ++c) {
      line.append(wide, character_of(picture.at(r, c), one_pair));
    }
    lines.push_back(line + '|');
  }
  return lines;
}

}  // namespace longformer::cli
