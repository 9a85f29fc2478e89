#include "cli/bench_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "cli/svg.h"

namespace longformer::cli {
namespace {

constexpr double kWidth = 920, kHeight = 432;
constexpr double kPanelWidth = 370, kPanelHeight = 270, kTop = 76;
constexpr double kLeftPanel = 70, kRightPanel = 540;
constexpr double kLegendTop = kHeight - 18;
constexpr double kSmallestSeconds = 1e-7, kSmallestBytes = 4096;  // a logarithm needs something

// Colours that stand out from white and from black, and are told apart by the colour-blind; marks
// differ as well.
struct Look {
  const char* name;
  const char* color;
  const char* mark;  // circle, square, triangle, diamond, cross
};
constexpr std::array kLooks = {
    Look{kOurs, "#1f83d6", "circle"},     Look{kLoop, "#d9822b", "square"},
    Look{kChunks, "#2a9d62", "triangle"}, Look{kFull, "#d64550", "diamond"},
    Look{kReference, "#9163c9", "cross"},
};

const Look& look_of(const std::string& implementation) {
  for (const Look& look : kLooks) {
    if (implementation == look.name) return look;
  }
  return kLooks.back();
}

// A logarithmic axis: where values lie, and the round ones among them.
class Axis {
 public:
  Axis(double low, double high, double from, double to) : from_(from), to_(to) {
    if (high / low < 1.5) {  // one value, or nearly: in the middle
      const double middle = std::sqrt(low * high);
      low = middle / 1.25;
      high = middle * 1.25;
    }
    low_ = std::log(low);
    high_ = std::log(high);
  }
  double at(double value) const {
    return from_ + (to_ - from_) * (std::log(value) - low_) / (high_ - low_);
  }
  bool holds(double value) const {
    constexpr double kRounding = 1e-9;
    return std::log(value) >= low_ - kRounding && std::log(value) <= high_ + kRounding;
  }
  double low() const { return std::exp(low_); }
  double high() const { return std::exp(high_); }

  // 1, 10, 100 …, and 2 and 5 between where that would be too few.
  std::vector<double> decimal_ticks() const {
    std::vector<double> tens, all;
    for (double power = std::pow(10, std::floor(std::log10(low()))); power <= high(); power *= 10) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (!holds(power * factor)) continue;
        all.push_back(power * factor);
        if (factor == 1.0) tens.push_back(power);
      }
    }
    return tens.size() >= 3 ? tens : all;
  }

  // Powers of two, every n-th where they are many; the lengths themselves where they are few.
  std::vector<double> length_ticks(const std::vector<double>& lengths) const {
    constexpr size_t kMost = 8, kFewest = 3;
    std::vector<double> powers, ticks;
    for (double power = 1; power <= high() * 1.001; power *= 2) {
      if (holds(power)) powers.push_back(power);
    }
    if (powers.size() < kFewest && lengths.size() <= kMost) return lengths;
    const size_t step = (powers.size() + kMost - 1) / kMost;
    for (size_t i = 0; i < powers.size(); i += step) ticks.push_back(powers[i]);
    return ticks;
  }

 private:
  double from_, to_, low_ = 0, high_ = 0;
};

struct Panel {
  const char* title;
  double left;
  double smallest;
  std::function<double(const BenchRow&)> value;
  std::function<std::string(double)> label;
};

std::string mark_at(const Look& look, double x, double y) {
  const std::string mark = look.mark;
  const auto polygon = [&](const std::vector<std::pair<double, double>>& corners) {
    std::string points;
    for (const auto& [dx, dy] : corners)
      points += svg_number(x + dx) + "," + svg_number(y + dy) + " ";
    points.pop_back();
    return "<polygon points=\"" + points + "\" fill=\"" + look.color + "\"/>\n";
  };
  if (mark == "square") return polygon({{-3.6, -3.6}, {3.6, -3.6}, {3.6, 3.6}, {-3.6, 3.6}});
  if (mark == "triangle") return polygon({{0, -4.8}, {4.4, 3.4}, {-4.4, 3.4}});
  if (mark == "diamond") return polygon({{0, -5}, {5, 0}, {0, 5}, {-5, 0}});
  if (mark == "cross") {
    return polygon({{-1.5, -4.5},
                    {1.5, -4.5},
                    {1.5, -1.5},
                    {4.5, -1.5},
                    {4.5, 1.5},
                    {1.5, 1.5},
                    {1.5, 4.5},
                    {-1.5, 4.5},
                    {-1.5, 1.5},
                    {-4.5, 1.5},
                    {-4.5, -1.5},
                    {-1.5, -1.5}});
  }
  return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) + "\" r=\"4\" fill=\"" +
         look.color + "\"/>\n";
}

std::vector<std::string> implementations_of(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& row : rows) {
    if (std::find(names.begin(), names.end(), row.point.implementation) == names.end()) {
      names.push_back(row.point.implementation);
    }
  }
  return names;
}

std::string draw(const Panel& panel, const std::vector<BenchRow>& rows) {
  const auto value = [&](const BenchRow& row) {
    return std::max(panel.value(row), panel.smallest);
  };
  std::vector<double> lengths, values;
  for (const BenchRow& row : rows) {
    lengths.push_back(static_cast<double>(row.point.length));
    values.push_back(value(row));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double bottom = kTop + kPanelHeight, right = panel.left + kPanelWidth;
  const Axis x(lengths.front(), lengths.back(), panel.left + 16, right - 16);
  const Axis y(*low / 1.3, *high * 1.3, bottom, kTop);

  std::string svg = svg_text(panel.left, kTop - 12, "start", panel.title, " class=\"head\"");
  for (const double tick : y.decimal_ticks()) {
    svg += svg_line(panel.left, y.at(tick), right, y.at(tick), "grid");
    svg += svg_text(panel.left - 8, y.at(tick) + 4, "end", panel.label(tick));
  }
  for (const double tick : x.length_ticks(lengths)) {
    svg += svg_line(x.at(tick), bottom, x.at(tick), bottom + 5, "axis");
    svg += svg_text(x.at(tick), bottom + 20, "middle", grouped(std::llround(tick)));
  }
  svg += svg_line(panel.left, bottom, right, bottom, "axis");
  svg += svg_line(panel.left, kTop, panel.left, bottom, "axis");
  svg += svg_text((panel.left + right) / 2, bottom + 38, "middle", "tokens");
  for (const std::string& name : implementations_of(rows)) {
    const Look& look = look_of(name);
    std::string points, marks;
    for (const BenchRow& row : rows) {
      if (row.point.implementation != name) continue;
      const double px = x.at(static_cast<double>(row.point.length)), py = y.at(value(row));
      points += (points.empty() ? "" : " ") + svg_number(px) + "," + svg_number(py);
      marks += mark_at(look, px, py);
    }
    svg += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + look.color +
           "\" stroke-width=\"" + (name == kOurs ? "3" : "2") + "\"/>\n" + marks;
  }
  return svg;
}

// One entry an implementation, in the middle below the panels.
std::string legend(const std::vector<BenchRow>& rows) {
  constexpr double kEntry = 130;
  const std::vector<std::string> names = implementations_of(rows);
  double x = (kWidth - kEntry * static_cast<double>(names.size())) / 2;
  std::string svg;
  for (const std::string& name : names) {
    const Look& look = look_of(name);
    svg += "<line x1=\"" + svg_number(x) + "\" y1=\"" + svg_number(kLegendTop - 4) + "\" x2=\"" +
           svg_number(x + 28) + "\" y2=\"" + svg_number(kLegendTop - 4) + "\" stroke=\"" +
           look.color + "\" stroke-width=\"2\"/>\n" + mark_at(look, x + 14, kLegendTop - 4) +
           svg_text(x + 36, kLegendTop, "start", name);
    x += kEntry;
  }
  return svg;
}

// A round value needs no decimals.
std::string tick_label(const std::string& text) {
  const size_t point = text.find('.'), space = text.find(' ');
  if (point == std::string::npos) return text;
  size_t end = space;
  while (text[end - 1] == '0') --end;
  if (text[end - 1] == '.') --end;
  return text.substr(0, end) + text.substr(space);
}

}  // namespace

std::string bench_svg(const std::vector<BenchRow>& unordered, const std::string& title) {
  std::vector<BenchRow> rows = unordered;
  std::stable_sort(rows.begin(), rows.end(), [](const BenchRow& a, const BenchRow& b) {
    return a.point.length < b.point.length;
  });
  const Panel time = {"time of a call (log scale)", kLeftPanel, kSmallestSeconds,
                      [](const BenchRow& row) { return row.median(); },
                      [](double value) { return tick_label(duration_text(value)); }};
  const Panel memory = {"peak memory of a call (log scale)", kRightPanel, kSmallestBytes,
                        [](const BenchRow& row) { return static_cast<double>(row.peak_bytes); },
                        [](double value) { return tick_label(bytes_text(value)); }};
  std::string svg = svg_head(kWidth, kHeight, title);
  svg += svg_text(kWidth / 2, 26, "middle", title, " class=\"head\"");
  return svg + draw(time, rows) + draw(memory, rows) + legend(rows) + "</svg>\n";
}

}  // namespace longformer::cli
