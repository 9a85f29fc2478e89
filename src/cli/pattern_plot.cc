#include "cli/pattern_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "cli/bitmap_text.h"
#include "cli/svg.h"

namespace longformer::cli {
namespace {

// Layout, in units that are pixels of the SVG.
constexpr int kSide = 512;  // of the drawing, at most
constexpr int kLeft = 92, kRight = 40, kTitle = 28, kLine = 17, kAxis = 54, kBottom = 58;
constexpr int kWidth = kLeft + kSide + kRight;
constexpr int64_t kSvgCells = 128, kPixelCells = 256;
constexpr int kLevels = 12;         // of shade
constexpr double kLightest = 0.22;  // so that one pair in a cell of millions still shows
constexpr double kMaskedOpacity = 0.28;
constexpr int kMaskedColor = 0x8c959f;

// Told apart by the colour-blind, and in grey: blue is dark, purple middle, orange bright.
int color_of(const AttentionPattern& pattern, CellKind kind) {
  if (kind == CellKind::kGlobal) return 0xe69f00;
  if (kind == CellKind::kListed) return 0xb8559c;
  return pattern.grid ? 0x00795c : 0x0b62a8;
}

struct Box {
  double x, y, width, height;
  int color;
  double opacity;
};

enum class Turn { kNone, kUpwards };

struct Label {
  double x, y;         // of the base line
  const char* anchor;  // start, middle, end
  std::string text;
  bool bold = false;
  Turn turn = Turn::kNone;
};

struct Line {
  double x1, y1, x2, y2;
};

struct Figure {
  double width = kWidth, height = 0;
  std::vector<Box> boxes;
  std::vector<Line> lines;
  std::vector<Label> labels;
};

double opacity_of(double share) {
  const double level = std::ceil(share * kLevels) / kLevels;
  return kLightest + (1 - kLightest) * level;
}

// A global token is one row and one column, often thinner than a cell: never pale.
double opacity_of(const Cell& cell) {
  constexpr double kLightestGlobal = 0.7;
  const double opacity = opacity_of(cell.share);
  return cell.kind == CellKind::kGlobal ? std::max(opacity, kLightestGlobal) : opacity;
}

// Equal neighbours of a row become one box.
void add_cells(const AttentionPattern& pattern, const PatternPicture& picture, double left,
               double top, double cell, Figure& figure) {
  for (size_t r = 0; r < picture.rows(); ++r) {
    for (size_t c = 0; c < picture.columns();) {
      const Cell& first = picture.at(r, c);
      const double opacity = opacity_of(first);
      size_t end = c + 1;
      while (end < picture.columns() && picture.at(r, end).kind == first.kind &&
             opacity_of(picture.at(r, end)) == opacity) {
        ++end;
      }
      if (first.kind != CellKind::kEmpty) {
        figure.boxes.push_back(
            {left + static_cast<double>(c) * cell, top + static_cast<double>(r) * cell,
             static_cast<double>(end - c) * cell, cell, color_of(pattern, first.kind), opacity});
      }
      c = end;
    }
  }
}

// Bands over the rows and columns of masked tokens.
bool add_masked(const AttentionPattern& pattern, double left, double top, double side,
                Figure& figure) {
  if (pattern.valid.empty()) return false;
  const double unit = side / static_cast<double>(pattern.lengths[0]);
  bool any = false;
  int64_t begin = 0;
  const auto add = [&](int64_t end) {
    if (end <= begin) return;
    const double from = static_cast<double>(begin) * unit;
    const double size = static_cast<double>(end - begin) * unit;
    figure.boxes.push_back({left + from, top, size, side, kMaskedColor, kMaskedOpacity});
    if (pattern.masked_query == MaskedQuery::kZero) {
      figure.boxes.push_back({left, top + from, side, size, kMaskedColor, kMaskedOpacity});
    }
    any = true;
  };
  for (const Interval& range : pattern.valid[0]) {
    add(range.begin);
    begin = range.end;
  }
  add(pattern.lengths[0]);
  return any;
}

void add_axes(int64_t length, double left, double top, double side, Figure& figure) {
  // The frame stands around the cells, not on them.
  const double x0 = left - 0.5, y0 = top - 0.5, x1 = left + side + 0.5, y1 = top + side + 0.5;
  figure.lines.insert(figure.lines.end(),
                      {{x0, y0, x1, y0}, {x0, y1, x1, y1}, {x0, y0, x0, y1}, {x1, y0, x1, y1}});
  constexpr int64_t kTicks = 4;
  int64_t previous = -1;
  for (int64_t t = 0; t <= kTicks; ++t) {
    const int64_t position = std::min(t * length / kTicks, length - 1);
    if (position == previous) continue;
    previous = position;
    const double at = (static_cast<double>(position) + 0.5) / static_cast<double>(length) * side;
    figure.lines.push_back({left + at, top - 4, left + at, top});
    figure.lines.push_back({left - 4, top + at, left, top + at});
    figure.labels.push_back({left + at, top - 8, "middle", grouped(position)});
    figure.labels.push_back({left - 8, top + at + 4, "end", grouped(position)});
  }
  figure.labels.push_back({left + side / 2, top - 26, "middle", "key", true});
  figure.labels.push_back({left - 72, top + side / 2, "middle", "query", true, Turn::kUpwards});
}

struct LegendEntry {
  std::string name;
  int color;
  double opacity;
};

void add_legend(const std::vector<LegendEntry>& entries, double y, Figure& figure) {
  constexpr double kSwatch = 14, kGap = 24, kLetter = 7.2;
  double width = -kGap;
  const auto width_of = [&](const LegendEntry& entry) {
    return kSwatch + 6 + kLetter * static_cast<double>(entry.name.size()) + kGap;
  };
  for (const LegendEntry& entry : entries) width += width_of(entry);
  double x = kLeft + kSide / 2.0 - width / 2;
  for (const LegendEntry& entry : entries) {
    figure.boxes.push_back({x, y - 11, kSwatch, kSwatch, entry.color, entry.opacity});
    figure.labels.push_back({x + kSwatch + 6, y, "start", entry.name});
    x += width_of(entry);
  }
}

std::vector<std::string> wrapped(const std::string& text) {
  constexpr size_t kMost = 84;  // letters that fit beside each other
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.size();
    if (end - at > kMost) {
      const size_t space = text.rfind(' ', at + kMost);
      end = space == std::string::npos || space <= at ? at + kMost : space;
    }
    lines.push_back(text.substr(at, end - at));
    at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
  }
  return lines;
}

Figure lay_out(const AttentionPattern& pattern, int64_t head, const PatternCounts& counts,
               const PlotText& text, int64_t most_cells) {
  Figure figure;
  const double middle = kWidth / 2.0;
  figure.labels.push_back({middle, kTitle, "middle", text.title, true});
  double y = kTitle;
  for (const std::string& paragraph : text.lines) {
    for (const std::string& line : wrapped(paragraph)) {
      y += kLine;
      figure.labels.push_back({middle, y, "middle", line});
    }
  }
  const PatternPicture picture = picture_of(pattern, head, most_cells, most_cells);
  const auto cells = static_cast<double>(picture.columns());
  const double cell = std::floor(kSide / cells), side = cell * cells;
  const double left = kLeft + std::floor((kSide - side) / 2), top = y + kAxis;
  add_cells(pattern, picture, left, top, cell, figure);
  const bool masked = add_masked(pattern, left, top, side, figure);
  add_axes(counts.length, left, top, side, figure);
  std::vector<LegendEntry> entries;
  for (const CellKind kind : kinds_of(counts)) {
    entries.push_back({kind_name(pattern, kind), color_of(pattern, kind), 1});
  }
  if (masked) entries.push_back({"masked", kMaskedColor, kMaskedOpacity});
  add_legend(entries, top + side + 28, figure);
  if (counts.length > most_cells) {
    figure.labels.push_back({middle, top + side + 48, "middle",
                             "a cell is " + grouped(counts.length / most_cells) +
                                 " tokens wide; the paler, the fewer of its scores count"});
  }
  figure.height = top + side + kBottom;
  return figure;
}

std::string short_number(double value) {  // 12 or 12.5
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// One path a colour and shade: many boxes in few bytes.
std::string svg_boxes(const std::vector<Box>& boxes) {
  std::map<std::pair<int, double>, std::string> paths;
  for (const Box& box : boxes) {
    paths[{box.color, box.opacity}] += "M" + short_number(box.x) + " " + short_number(box.y) + "h" +
                                       short_number(box.width) + "v" + short_number(box.height) +
                                       "h-" + short_number(box.width) + "z";
  }
  std::string svg = "<g shape-rendering=\"crispEdges\">\n";
  for (const auto& [look, path] : paths) {
    char fill[64];
    std::snprintf(fill, sizeof fill, "fill=\"#%06x\" fill-opacity=\"%.2f\"", look.first,
                  look.second);
    svg += std::string("<path ") + fill + " d=\"" + path + "\"/>\n";
  }
  return svg + "</g>\n";
}

std::string svg_label(const Label& label) {
  std::string attributes = label.bold ? " class=\"head\"" : "";
  if (label.turn == Turn::kUpwards) {
    attributes +=
        " transform=\"rotate(-90 " + short_number(label.x) + " " + short_number(label.y) + ")\"";
  }
  return svg_text(label.x, label.y, label.anchor, label.text, attributes.c_str());
}

// Pixels with as many of them to a unit of the layout.
class Canvas {
 public:
  static constexpr int kScale = 2;

  Canvas(double width, double height) {
    pixels_.width = static_cast<uint32_t>(std::lround(width * kScale));
    pixels_.height = static_cast<uint32_t>(std::lround(height * kScale));
    pixels_.rgb.assign(size_t{3} * pixels_.width * pixels_.height, 255);
  }

  void fill(const Box& box) {
    const auto [left, right] = span(box.x, box.width, pixels_.width);
    const auto [top, bottom] = span(box.y, box.height, pixels_.height);
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) blend(x, y, box.color, box.opacity);
    }
  }

  void draw(const Line& line) {
    fill({line.x1 - 0.5, line.y1 - 0.5, line.x2 - line.x1 + 1, line.y2 - line.y1 + 1, kLineColor,
          1});
  }

  // Small letters have two pixels a dot; the bold ones three, narrow enough for every title.
  void write(const Label& label) {
    const int dot = label.bold ? 3 : 2;
    const int length = dot * kGlyphAdvance * static_cast<int>(label.text.size()) - dot;
    int along = 0;
    if (std::string_view(label.anchor) == "middle") along = -length / 2;
    if (std::string_view(label.anchor) == "end") along = -length;
    const auto x0 = static_cast<int>(std::lround(label.x * kScale));
    const auto y0 = static_cast<int>(std::lround(label.y * kScale));
    constexpr int kAbove = 7;
    for (const char character : label.text) {
      const auto rows = glyph_of(character);
      for (int row = 0; row < kGlyphHeight; ++row) {
        for (int column = 0; column < kGlyphWidth; ++column) {
          if ((rows[static_cast<size_t>(row)] >> (kGlyphWidth - 1 - column) & 1) == 0) continue;
          const int u = along + column * dot, v = (row - kAbove) * dot;
          const bool up = label.turn == Turn::kUpwards;
          square(up ? x0 + v : x0 + u, up ? y0 - u - dot : y0 + v, dot);
        }
      }
      along += dot * kGlyphAdvance;
    }
  }

  Pixels take() && { return std::move(pixels_); }

 private:
  static constexpr int kLineColor = 0x57606a, kTextColor = 0x24292f;

  static std::pair<int64_t, int64_t> span(double from, double size, int64_t limit) {
    const auto begin = static_cast<int64_t>(std::lround(from * kScale));
    // What is there is never too thin to be seen.
    const auto end = std::max<int64_t>(std::lround((from + size) * kScale), begin + 1);
    return {std::clamp<int64_t>(begin, 0, limit), std::clamp<int64_t>(end, 0, limit)};
  }

  void square(int left, int top, int size) {
    for (int y = top; y < top + size; ++y) {
      for (int x = left; x < left + size; ++x) {
        if (x >= 0 && y >= 0 && x < static_cast<int>(pixels_.width) &&
            y < static_cast<int>(pixels_.height)) {
          blend(x, y, kTextColor, 1);
        }
      }
    }
  }

  void blend(int64_t x, int64_t y, int color, double opacity) {
    uint8_t* pixel = &pixels_.rgb[3 * static_cast<size_t>(y * pixels_.width + x)];
    for (int channel = 0; channel < 3; ++channel) {
      const double value = (color >> (16 - 8 * channel)) & 255;
      pixel[channel] =
          static_cast<uint8_t>(std::lround(value * opacity + pixel[channel] * (1 - opacity)));
    }
  }

  Pixels pixels_;
};

}  // namespace

std::string pattern_svg(const AttentionPattern& pattern, int64_t head, const PatternCounts& counts,
                        const PlotText& text) {
  const Figure figure = lay_out(pattern, head, counts, text, kSvgCells);
  std::string svg = svg_head(figure.width, figure.height, text.title) + svg_boxes(figure.boxes);
  for (const Line& line : figure.lines) {
    svg += svg_line(line.x1, line.y1, line.x2, line.y2, "axis");
  }
  for (const Label& label : figure.labels) svg += svg_label(label);
  return svg + "</svg>\n";
}

Pixels pattern_pixels(const AttentionPattern& pattern, int64_t head, const PatternCounts& counts,
                      const PlotText& text) {
  const Figure figure = lay_out(pattern, head, counts, text, kPixelCells);
  Canvas canvas(figure.width, figure.height);
  for (const Box& box : figure.boxes) canvas.fill(box);
  for (const Line& line : figure.lines) canvas.draw(line);
  for (const Label& label : figure.labels) canvas.write(label);
  return std::move(canvas).take();
}

}  // namespace longformer::cli
