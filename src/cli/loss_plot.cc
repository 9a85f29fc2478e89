#include "cli/loss_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/svg.h"

namespace longformer::cli {
namespace {

using train::CurvePoint;
using train::LossCurves;

constexpr double kWidth = 860, kLeft = 84, kRight = 830;
constexpr double kLossTop = 56, kLossBottom = 356, kRateTop = 410, kRateBottom = 520;
constexpr double kLegendTop = 584, kLegendLine = 22;
constexpr size_t kMostPoints = 600;  // of a curve; more would lie on the same pixels

// Told apart by the colour-blind, on white and on black.
constexpr std::array kColors = {"#1f83d6", "#d9822b", "#2a9d62", "#d64550", "#9163c9", "#8a8f98"};
const char* color_of(size_t run) { return kColors[run % kColors.size()]; }

constexpr const char* kDashes = " stroke-dasharray=\"6 4\"";

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // One value, or none: in the middle.
  Range widened() const {
    if (low > high) return {0, 1};
    if (high > low) return *this;
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    return {low - room, high + room};
  }
};

struct Axis {
  Range range;
  double from = 0, to = 0;
  double at(double value) const {
    return from + (to - from) * (value - range.low) / (range.high - range.low);
  }
};

struct Panel {
  Axis x, y;
  std::string title;
};

// Means of stretches of equal length.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points) {
  const size_t stretch = (points.size() + kMostPoints - 1) / kMostPoints;
  if (stretch <= 1) return points;
  std::vector<CurvePoint> result;
  for (size_t begin = 0; begin < points.size(); begin += stretch) {
    const size_t end = std::min(points.size(), begin + stretch);
    CurvePoint mean;
    for (size_t i = begin; i < end; ++i) {
      mean.step += points[i].step / static_cast<double>(end - begin);
      mean.value += points[i].value / static_cast<double>(end - begin);
    }
    result.push_back(mean);
  }
  return result;
}

std::string curve(const Panel& panel, const std::vector<CurvePoint>& all, const char* color,
                  const char* dashes) {
  const std::vector<CurvePoint> points = thinned(all);
  if (points.empty()) return "";
  std::string path, marks;
  for (const CurvePoint& point : points) {
    const std::string x = svg_number(panel.x.at(point.step));
    const std::string y = svg_number(panel.y.at(point.value));
    path += (path.empty() ? "" : " ") + x + "," + y;
    // Few points are shown as such: a line of one would be invisible.
    constexpr size_t kFew = 40;
    if (points.size() <= kFew) {
      marks += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"2.6\" fill=\"" + color + "\"/>\n";
    }
  }
  return "<polyline points=\"" + path + "\" fill=\"none\" stroke=\"" + color +
         "\" stroke-width=\"2\" stroke-linejoin=\"round\"" + dashes + "/>\n" + marks;
}

std::string frame(const Panel& panel) {
  std::string svg =
      svg_text(panel.x.from, panel.y.to - 10, "start", panel.title, " class=\"head\"");
  const Ticks rows = linear_ticks(panel.y.range.low, panel.y.range.high);
  for (size_t i = 0; i < rows.values.size(); ++i) {
    const double y = panel.y.at(rows.values[i]);
    svg += svg_line(panel.x.from, y, panel.x.to, y, "grid");
    svg += svg_text(panel.x.from - 8, y + 4, "end", rows.labels[i]);
  }
  const Ticks columns = linear_ticks(panel.x.range.low, panel.x.range.high);
  for (size_t i = 0; i < columns.values.size(); ++i) {
    const double x = panel.x.at(columns.values[i]);
    svg += svg_line(x, panel.y.from, x, panel.y.from + 5, "axis");
    svg += svg_text(x, panel.y.from + 20, "middle", columns.labels[i]);
  }
  svg += svg_line(panel.x.from, panel.y.from, panel.x.to, panel.y.from, "axis");
  svg += svg_line(panel.x.from, panel.y.to, panel.x.from, panel.y.from, "axis");
  return svg;
}

std::string legend_line(double x, double y, const char* color, const char* dashes,
                        const std::string& text) {
  return "<line x1=\"" + svg_number(x) + "\" y1=\"" + svg_number(y - 4) + "\" x2=\"" +
         svg_number(x + 28) + "\" y2=\"" + svg_number(y - 4) + "\" stroke=\"" + color +
         "\" stroke-width=\"2.5\"" + dashes + "/>\n" + svg_text(x + 36, y, "start", text);
}

// A line a run: its training loss, and its evaluation loss where there is one.
std::string legend(const std::vector<LossCurves>& runs) {
  std::string svg;
  for (size_t r = 0; r < runs.size(); ++r) {
    const double y = kLegendTop + kLegendLine * static_cast<double>(r);
    svg += legend_line(kLeft, y, color_of(r), "", runs[r].name + ": training");
    if (runs[r].eval_loss.empty()) continue;
    svg +=
        legend_line((kLeft + kRight) / 2, y, color_of(r), kDashes, runs[r].name + ": evaluation");
  }
  return svg;
}

}  // namespace

Ticks linear_ticks(double low, double high) {
  constexpr double kMostSteps = 6;
  const double raw = (high - low) / kMostSteps;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power < raw * 0.999) continue;
    step = factor * power;
    break;
  }
  Ticks ticks;
  const auto first = static_cast<int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<int64_t>(std::floor(high / step + 1e-9));
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    constexpr double kGrouped = 10'000;
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    ticks.values.push_back(value);
    ticks.labels.push_back(std::abs(value) >= kGrouped && step >= 1 ? grouped(std::llround(value))
                                                                    : text);
  }
  return ticks;
}

std::string loss_svg(const std::vector<LossCurves>& runs) {
  Range steps, losses, rates;
  for (const LossCurves& run : runs) {
    for (const auto* points : {&run.train_loss, &run.eval_loss, &run.learning_rate}) {
      for (const CurvePoint& point : *points) {
        steps.add(point.step);
        (points == &run.learning_rate ? rates : losses).add(point.value);
      }
    }
  }
  steps.add(0);
  rates.add(0);
  const Axis x = {steps.widened(), kLeft, kRight};
  const Panel loss = {x, {losses.widened(), kLossBottom, kLossTop}, "loss"};
  const Panel rate = {x, {rates.widened(), kRateBottom, kRateTop}, "learning rate"};
  const double height = kLegendTop + kLegendLine * static_cast<double>(runs.size());
  const std::string title =
      runs.size() == 1 ? runs[0].name : std::to_string(runs.size()) + " trainings";
  std::string svg = svg_head(kWidth, height, "Loss of " + title);
  svg += svg_text(kWidth / 2, 24, "middle", title, " class=\"head\"");
  svg += frame(loss) + frame(rate);
  svg += svg_text((kLeft + kRight) / 2, kRateBottom + 40, "middle", "steps");
  for (size_t r = 0; r < runs.size(); ++r) {
    svg += curve(loss, runs[r].train_loss, color_of(r), "");
    svg += curve(loss, runs[r].eval_loss, color_of(r), kDashes);
    svg += curve(rate, runs[r].learning_rate, color_of(r), "");
  }
  return svg + legend(runs) + "</svg>\n";
}

}  // namespace longformer::cli
