// Pieces of an SVG figure that is readable on light and dark and loads nothing from outside.
#pragma once

#include <cstdint>
#include <string>

namespace longformer::cli {

// The opening tag, the title and the style: text, .head (bold), .axis and .grid lines. "</svg>\n"
// ends it.
std::string svg_head(double width, double height, const std::string& title);
// Text with its control characters replaced and markup escaped.
std::string svg_escaped(const std::string& text);
std::string svg_number(double value);  // one decimal
// `anchor`: start, middle or end; `attributes` begin with a space.
std::string svg_text(double x, double y, const char* anchor, const std::string& text,
                     const char* attributes = "");
std::string svg_line(double x1, double y1, double x2, double y2, const char* style);

std::string grouped(int64_t value);  // 16,384

}  // namespace longformer::cli
