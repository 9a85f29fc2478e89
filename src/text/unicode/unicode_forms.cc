#include "text/unicode/unicode_forms.h"

#include <algorithm>

namespace longformer::text::unicode {

std::optional<char32_t> composition(char32_t first, char32_t second) {
  const Composition* end = compositions + composition_count;
  const Composition* found =
      std::lower_bound(compositions, end, Composition{first, second, 0},
                       [](const Composition& a, const Composition& b) {
                         return a.first != b.first ? a.first < b.first : a.second < b.second;
                       });
  if (found == end || found->first != first || found->second != second) return std::nullopt;
  return found->composed;
}

char32_t stand_in(char32_t c) {
  if (c < newer_ranges[0].first) return c;
  const NewerRange* range =
      std::upper_bound(newer_ranges, newer_ranges + newer_range_count, c,
                       [](char32_t code, const NewerRange& r) { return code < r.first; }) -
      1;
  return c <= range->last ? range->stand_in : c;
}

}  // namespace longformer::text::unicode
