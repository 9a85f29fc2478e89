// What Python's str.split(), str.lower() and the \w of its regular expressions know about
// characters, where that differs from the reference tokenizer's library.
#pragma once

#include <cstdint>

#include "text/unicode/unicode_tables.h"

namespace longformer::text::unicode {

// Bits of python_flags().
inline constexpr uint8_t kPythonSpace = 1;      // separates words in split()
inline constexpr uint8_t kPythonWord = 2;       // \w
inline constexpr uint8_t kPythonCased = 4;      // a letter with a case
inline constexpr uint8_t kPythonIgnorable = 8;  // passed over when a sigma looks for its neighbours

extern const uint8_t python_index[8704];
extern const uint8_t python_blocks[];

inline uint8_t python_flags(char32_t c) { return look_up(python_index, python_blocks, c); }

}  // namespace longformer::text::unicode
