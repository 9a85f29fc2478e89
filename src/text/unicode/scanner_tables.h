// Letters and numbers as the reference's pre-tokenisers know them; its regular expressions and its
// Digits rule come from different Unicode versions.
#pragma once

#include <cstdint>

#include "text/unicode/unicode_tables.h"

namespace longformer::text::unicode {

// Bits of classes().
inline constexpr uint8_t kLetter = 1;   // \p{L} of its regular expressions
inline constexpr uint8_t kNumber = 2;   // \p{N} of them
inline constexpr uint8_t kNumeric = 4;  // of Digits

extern const uint8_t class_index[8704];
extern const uint8_t class_blocks[];

inline uint8_t classes(char32_t c) { return look_up(class_index, class_blocks, c); }

}  // namespace longformer::text::unicode
