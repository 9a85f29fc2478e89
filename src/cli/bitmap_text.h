// Letters for pictures of pixels: ASCII, 5 x 7 dots and two below the line.
#pragma once

#include <array>
#include <cstdint>

namespace longformer::cli {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphAdvance = 6;
inline constexpr int kGlyphHeight = 9;  // 7 above the base line, 2 below

// Rows from the top; bit 4 is the leftmost dot. A frame for what has no letter here.
std::array<uint8_t, kGlyphHeight> glyph_of(char character);

}  // namespace longformer::cli
