// Character sets and mappings of the reference tokenizer, as its version named in unicode_tables.cc
// applies them. Two-stage tables: one block index and one entry per look-up. Code points must be
// below 0x110000.
#pragma once

#include <cstdint>
#include <string_view>

namespace longformer::text::unicode {

// Bits of flags(). "Cleaning" is the clean_text step of the BERT normaliser.
inline constexpr uint8_t kDrop = 1;        // removed by cleaning
inline constexpr uint8_t kCleanSpace = 2;  // becomes U+0020 in cleaning
inline constexpr uint8_t kSpace = 4;  // White_Space: separates words, absorbed by lstrip and rstrip
inline constexpr uint8_t kCjk = 8;    // padded with spaces
inline constexpr uint8_t kPunctuation = 16;  // a word of its own
inline constexpr uint8_t kNonspacing = 32;   // removed by strip_accents of the BERT normaliser
inline constexpr uint8_t kMark = 64;         // removed by the StripAccents normaliser
inline constexpr uint8_t kWord = 128;        // keeps a single_word token from matching

inline constexpr char32_t kBlockShift = 7;
inline constexpr char32_t kBlockMask = (1u << kBlockShift) - 1;

extern const uint8_t flag_index[8704];
extern const uint8_t flag_blocks[];
extern const uint8_t rank_index[8704];
extern const uint8_t rank_blocks[];
extern const uint8_t decomposition_index[8704];
extern const uint16_t decomposition_blocks[];
extern const uint8_t lowercase_index[8704];
extern const uint16_t lowercase_blocks[];
extern const char32_t decomposition_pool[];
extern const char32_t lowercase_pool[];

template <class Value>
inline Value look_up(const uint8_t* index, const Value* blocks, char32_t c) {
  return blocks[(uint32_t{index[c >> kBlockShift]} << kBlockShift) + (c & kBlockMask)];
}

inline uint8_t flags(char32_t c) { return look_up(flag_index, flag_blocks, c); }

// Order of canonical combining classes: 0 for starters, otherwise higher for a higher class.
inline uint8_t combining_rank(char32_t c) { return look_up(rank_index, rank_blocks, c); }

// An entry of a mapping table is offset << 3 | length into its pool; 0 means that the character
// maps to itself.
inline std::u32string_view mapped(const char32_t* pool, uint16_t entry) {
  return {pool + (entry >> 3), static_cast<size_t>(entry & 7)};
}

// Full canonical decomposition, empty where there is none. Hangul syllables are computed by the
// caller.
inline std::u32string_view decomposition(char32_t c) {
  return mapped(decomposition_pool, look_up(decomposition_index, decomposition_blocks, c));
}

// Full lower-case form, independent of context, empty where the character is its own.
inline std::u32string_view lowercase(char32_t c) {
  return mapped(lowercase_pool, look_up(lowercase_index, lowercase_blocks, c));
}

}  // namespace longformer::text::unicode
