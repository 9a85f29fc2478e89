#include "cli/svg.h"

#include <cstdio>

#include "cli/output.h"

namespace longformer::cli {

std::string svg_head(double width, double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(width) + " " +
         svg_number(height) + "\" width=\"" + svg_number(width) + "\" height=\"" +
         svg_number(height) + "\" role=\"img\">\n<title>" + svg_escaped(title) +
         "</title>\n"
         "<style>\n"
         "text { font: 13px system-ui, sans-serif; fill: #24292f }\n"
         ".head { font-weight: 600 }\n"
         ".axis { stroke: #57606a; stroke-width: 1 }\n"
         ".grid { stroke: #8c959f; stroke-width: 1; stroke-opacity: 0.35 }\n"
         "@media (prefers-color-scheme: dark) {\n"
         "  text { fill: #d7dde4 }\n"
         "  .axis { stroke: #aab3bd }\n"
         "}\n"
         "</style>\n";
}

std::string svg_escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text, Lines::kJoin)) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string svg_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string svg_text(double x, double y, const char* anchor, const std::string& text,
                     const char* attributes) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" + anchor +
         "\"" + attributes + ">" + svg_escaped(text) + "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
         svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\" class=\"" + style + "\"/>\n";
}

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace longformer::cli
