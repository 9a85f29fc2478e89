#include "text/unicode/normal_forms.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "text/unicode/unicode_forms.h"
#include "text/unicode/unicode_tables.h"

namespace longformer::text {
namespace {

constexpr char32_t kHangulBase = 0xAC00;
constexpr char32_t kHangulCount = 11172;
constexpr char32_t kLeadBase = 0x1100;
constexpr char32_t kVowelBase = 0x1161;
constexpr char32_t kTrailBase = 0x11A7;
constexpr char32_t kLeads = 19;
constexpr char32_t kVowels = 21;
constexpr char32_t kTrails = 28;

struct Part {
  char32_t code;
  int32_t change;
  uint8_t rank;
};

bool is_compatible(NormalForm form) {
  return form == NormalForm::kNfkd || form == NormalForm::kNfkc;
}
bool is_composed(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }

// The flag of characters that a form may change, or that may change others in it.
uint8_t active_flag(NormalForm form) {
  switch (form) {
    case NormalForm::kNfd:
      return unicode::kNfdActive;
    case NormalForm::kNfc:
      return unicode::kNfcActive;
    case NormalForm::kNfkd:
      return unicode::kNfkdActive;
    case NormalForm::kNfkc:
      break;
  }
  return unicode::kNfkcActive;
}

void append_part(char32_t code, bool is_first, std::vector<Part>& out) {
  out.push_back({code, is_first ? 0 : 1, unicode::combining_rank(code)});
}

void decompose_one(char32_t code, bool compatible, std::vector<Part>& out) {
  if (code - kHangulBase < kHangulCount) {
    const char32_t index = code - kHangulBase;
    out.push_back({kLeadBase + index / (kVowels * kTrails), 0, 0});
    out.push_back({kVowelBase + index % (kVowels * kTrails) / kTrails, 1, 0});
    if (index % kTrails != 0) out.push_back({kTrailBase + index % kTrails, 1, 0});
    return;
  }
  std::u32string_view parts;
  if (compatible) parts = unicode::compatible_decomposition(code);
  if (parts.empty()) parts = unicode::decomposition(code);
  if (parts.empty()) {
    append_part(code, true, out);
    return;
  }
  for (size_t k = 0; k < parts.size(); ++k) append_part(parts[k], k == 0, out);
}

// Marks between two starters, in the order of their classes.
void sort_marks(std::vector<Part>& parts) {
  for (auto it = parts.begin(); it != parts.end();) {
    if (it->rank == 0) {
      ++it;
      continue;
    }
    const auto end = std::find_if(it, parts.end(), [](const Part& p) { return p.rank == 0; });
    std::stable_sort(it, end, [](const Part& a, const Part& b) { return a.rank < b.rank; });
    it = end;
  }
}

std::optional<char32_t> compose(char32_t a, char32_t b) {
  if (a - kLeadBase < kLeads && b - kVowelBase < kVowels) {
    return kHangulBase + ((a - kLeadBase) * kVowels + (b - kVowelBase)) * kTrails;
  }
  if (a - kHangulBase < kHangulCount && (a - kHangulBase) % kTrails == 0 &&
      b - (kTrailBase + 1) < kTrails - 1) {
    return a + (b - kTrailBase);
  }
  return unicode::composition(a, b);
}

// Composes in place of the decomposed parts. A starter takes up the marks behind it that no mark of
// the same or a higher class shuts off; what it takes up is, for the places, removed behind it.
void recompose(const std::vector<Part>& parts, std::vector<Change>& out) {
  std::optional<Change> starter;
  std::vector<Change> held;  // marks that the starter did not take up
  int last_rank = -1;        // of the last of them
  const auto flush = [&] {
    if (starter) out.push_back(*starter);
    out.insert(out.end(), held.begin(), held.end());
    held.clear();
    last_rank = -1;
  };
  for (const Part& part : parts) {
    if (!starter) {
      if (part.rank != 0) {
        out.push_back({part.code, part.change});
      } else {
        starter = Change{part.code, part.change};
      }
      continue;
    }
    const bool is_shut_off = last_rank >= int{part.rank};
    if (!is_shut_off) {
      if (const auto composed = compose(starter->code, part.code)) {
        *starter = {*composed, starter->change + part.change - 1};
        continue;
      }
    }
    if (part.rank == 0) {
      flush();
      starter = Change{part.code, part.change};
      continue;
    }
    held.push_back({part.code, part.change});
    last_rank = part.rank;
  }
  flush();
}

}  // namespace

void apply_changes(const std::vector<Change>& changes, Characters& characters) {
  Characters out;
  out.reserve(changes.size());
  size_t at = 0;
  for (const Change& change : changes) {
    if (change.change > 0) {
      const Character place = at > 0 ? characters[at - 1] : Character{0, 0, 0};
      out.push_back({change.code, place.begin, place.end});
      continue;
    }
    if (at >= characters.size()) break;  // only where a step's changes do not fit its characters
    const Character& place = characters[at];
    out.push_back({change.code, place.begin, place.end});
    at = std::min(characters.size(), at + 1 + static_cast<size_t>(-change.change));
  }
  characters.swap(out);
}

void to_normal_form(NormalForm form, Characters& characters) {
  const uint8_t active = active_flag(form);
  const auto is_active = [&](const Character& c) {
    return c.code >= 0xA0 && (unicode::forms(c.code) & active) != 0;
  };
  auto first = std::find_if(characters.begin(), characters.end(), is_active);
  if (first == characters.end()) return;
  if (first != characters.begin()) --first;
  Characters out(characters.begin(), first);
  out.reserve(characters.size() + 16);
  std::vector<Part> parts;
  std::vector<Change> changes;
  Characters stretch;
  // From an inactive character (which nothing before it can reach) before active ones to the next
  // inactive one.
  for (auto begin = first; begin != characters.end();) {
    auto end = begin + 1;
    while (end != characters.end() && is_active(*end)) ++end;
    if (end == begin + 1 && !is_active(*begin)) {
      out.push_back(*begin);
      begin = end;
      continue;
    }
    parts.clear();
    for (auto c = begin; c != end; ++c) decompose_one(c->code, is_compatible(form), parts);
    sort_marks(parts);
    changes.clear();
    if (is_composed(form)) {
      recompose(parts, changes);
    } else {
      for (const Part& part : parts) changes.push_back({part.code, part.change});
    }
    stretch.assign(begin, end);
    apply_changes(changes, stretch);
    out.insert(out.end(), stretch.begin(), stretch.end());
    begin = end;
  }
  characters.swap(out);
}

}  // namespace longformer::text
