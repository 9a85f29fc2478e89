// The drawing of an attention pattern as SVG, readable on light and dark, and as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/pattern.h"
#include "cli/pattern_picture.h"

namespace longformer::cli {

struct PlotText {
  std::string title;
  std::vector<std::string> lines;  // below the title
};

std::string pattern_svg(const AttentionPattern& pattern, int64_t head, const PatternCounts& counts,
                        const PlotText& text);

struct Pixels {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint8_t> rgb;  // rows from the top
};
Pixels pattern_pixels(const AttentionPattern& pattern, int64_t head, const PatternCounts& counts,
                      const PlotText& text);

}  // namespace longformer::cli
