// More of the reference's character properties: grapheme clusters, normal forms, categories that
// are newer than the library of patterns. Same tables as in unicode_tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/unicode/unicode_tables.h"

namespace longformer::text::unicode {

// Roles in extended grapheme clusters, as far as they show in clusters of at most five bytes of
// UTF-8, which is all that the reference asks about: regional indicators count as kOther.
enum class GraphemeKind : uint8_t {
  kOther,
  kControl,
  kExtend,
  kZwj,
  kSpacingMark,
  kPrepend,
  kLead,            // Hangul jamo L
  kVowel,           // V
  kTrail,           // T
  kLeadVowel,       // syllables LV
  kLeadVowelTrail,  // and LVT
  kPictographic,
  kConsonant,    // of Indic conjuncts
  kLinker,       // Extend that joins consonants
  kIndicExtend,  // Extend that may stand between them
};

// Bits of forms(): the characters that a normal form may change, or that may act on the ones before
// them in it. Text without them is in that form, if it starts with none.
inline constexpr uint8_t kNfdActive = 1;
inline constexpr uint8_t kNfcActive = 2;
inline constexpr uint8_t kNfkdActive = 4;
inline constexpr uint8_t kNfkcActive = 8;

extern const uint8_t kind_index[8704];
extern const uint8_t kind_blocks[];
extern const uint8_t form_index[8704];
extern const uint8_t form_blocks[];
extern const uint8_t compatible_index[8704];
extern const uint16_t compatible_blocks[];
extern const uint16_t compatible_starts[];
extern const char32_t compatible_pool[];

struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};
extern const Composition compositions[];  // sorted by first, then second
extern const uint32_t composition_count;

// Characters that have another category in the reference's patterns than in Unicode 14, and one
// that has the same in both, of the same length in UTF-8.
struct NewerRange {
  char32_t first;
  char32_t last;
  char32_t stand_in;
};
extern const NewerRange newer_ranges[];  // ascending
extern const uint32_t newer_range_count;

inline GraphemeKind grapheme_kind(char32_t c) {
  return static_cast<GraphemeKind>(look_up(kind_index, kind_blocks, c));
}
inline uint8_t forms(char32_t c) { return look_up(form_index, form_blocks, c); }

// Full compatibility decomposition, empty where it is the canonical one.
inline std::u32string_view compatible_decomposition(char32_t c) {
  const uint16_t entry = look_up(compatible_index, compatible_blocks, c);
  return {compatible_pool + compatible_starts[entry],
          static_cast<size_t>(compatible_starts[entry + 1] - compatible_starts[entry])};
}

// The character that two others compose to, Hangul left out.
std::optional<char32_t> composition(char32_t first, char32_t second);

// The character itself, or what stands in for it where it is newer than Unicode 14.
char32_t stand_in(char32_t c);

}  // namespace longformer::text::unicode
