#include "text/normalizer.h"

#include <algorithm>

#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace longformer::text {
namespace {

constexpr char32_t kHangulBase = 0xAC00;
constexpr char32_t kHangulCount = 11172;

void remove(uint8_t flag, Characters& characters) {
  std::erase_if(characters, [flag](const Character& c) { return unicode::flags(c.code) & flag; });
}

void clean_text(Characters& characters) {
  remove(unicode::kDrop, characters);
  for (Character& c : characters) {
    if (unicode::flags(c.code) & unicode::kCleanSpace) c.code = U' ';
  }
}

void pad_cjk(Characters& characters) {
  const auto is_cjk = [](const Character& c) { return unicode::flags(c.code) & unicode::kCjk; };
  const auto first = std::find_if(characters.begin(), characters.end(), is_cjk);
  if (first == characters.end()) return;
  Characters out(characters.begin(), first);
  out.reserve(characters.size() + 2 * static_cast<size_t>(characters.end() - first));
  for (auto c = first; c != characters.end(); ++c) {
    if (!is_cjk(*c)) {
      out.push_back(*c);
      continue;
    }
    out.push_back({U' ', c->begin, c->end});
    out.push_back(*c);
    out.push_back({U' ', c->begin, c->end});
  }
  characters.swap(out);
}

void lowercase(Characters& characters) {
  Characters out;  // used only from the first character on whose form has several
  for (size_t i = 0; i < characters.size(); ++i) {
    Character& c = characters[i];
    const std::u32string_view lower = unicode::lowercase(c.code);
    if (lower.size() > 1 && out.empty()) {
      out.assign(characters.begin(), characters.begin() + static_cast<ptrdiff_t>(i));
    }
    if (!lower.empty()) c.code = lower[0];
    if (lower.size() > 1 || !out.empty()) {
      out.push_back(c);
      for (size_t k = 1; k < lower.size(); ++k) out.push_back({lower[k], c.begin, c.end});
    }
  }
  if (!out.empty()) characters.swap(out);
}

// A decomposed character. `leads` tells the first of its source character from those that are
// inserted.
struct Part {
  char32_t code;
  uint8_t rank;
  bool leads;
};

void decompose_one(char32_t code, std::vector<Part>& out) {
  if (code - kHangulBase < kHangulCount) {
    const char32_t index = code - kHangulBase;
    out.push_back({0x1100 + index / 588, 0, true});
    out.push_back({0x1161 + index % 588 / 28, 0, false});
    if (index % 28 != 0) out.push_back({0x11A7 + index % 28, 0, false});
    return;
  }
  const std::u32string_view parts = unicode::decomposition(code);
  if (parts.empty()) {
    out.push_back({code, unicode::combining_rank(code), true});
    return;
  }
  for (size_t k = 0; k < parts.size(); ++k) {
    out.push_back({parts[k], unicode::combining_rank(parts[k]), k == 0});
  }
}

bool is_decomposed(const Characters& characters) {
  uint8_t last = 0;
  for (const Character& c : characters) {
    if (c.code < 0xC0) {
      last = 0;
      continue;
    }
    if (c.code - kHangulBase < kHangulCount || !unicode::decomposition(c.code).empty())
      return false;
    const uint8_t rank = unicode::combining_rank(c.code);
    if (rank != 0 && rank < last) return false;
    last = rank;
  }
  return true;
}

// NFD. The reference keeps, with each reordered part, whether it was inserted, and then hands out
// the places of the source characters in order: a leading part takes the next place, an inserted
// one that of the part before it.
void decompose(Characters& characters) {
  if (is_decomposed(characters)) return;
  std::vector<Part> parts;
  parts.reserve(characters.size() + characters.size() / 4 + 4);
  for (const Character& c : characters) decompose_one(c.code, parts);
  for (auto it = parts.begin(); it != parts.end();) {
    if (it->rank == 0) {
      ++it;
      continue;
    }
    const auto end = std::find_if(it, parts.end(), [](const Part& p) { return p.rank == 0; });
    std::stable_sort(it, end, [](const Part& a, const Part& b) { return a.rank < b.rank; });
    it = end;
  }
  Characters out;
  out.reserve(parts.size());
  size_t source = 0;
  for (const Part& p : parts) {
    if (p.leads) ++source;
    const Character& place = characters[source > 0 ? source - 1 : 0];
    out.push_back({p.code, place.begin, place.end});
  }
  characters.swap(out);
}

}  // namespace

void append_characters(std::string_view text, uint32_t offset, Characters& out) {
  for (size_t at = 0; at < text.size();) {
    const auto begin = static_cast<uint32_t>(at);
    const char32_t code = utf8::next(text, at);
    out.push_back({code, offset + begin, offset + static_cast<uint32_t>(at)});
  }
}

bool Normalizer::has(NormalizerStep step) const {
  return std::find(steps_.begin(), steps_.end(), step) != steps_.end();
}

void Normalizer::apply(Characters& characters) const {
  for (const NormalizerStep step : steps_) {
    switch (step) {
      case NormalizerStep::kCleanText:
        clean_text(characters);
        break;
      case NormalizerStep::kPadCjk:
        pad_cjk(characters);
        break;
      case NormalizerStep::kDecompose:
        decompose(characters);
        break;
      case NormalizerStep::kRemoveNonspacing:
        remove(unicode::kNonspacing, characters);
        break;
      case NormalizerStep::kRemoveMarks:
        remove(unicode::kMark, characters);
        break;
      case NormalizerStep::kLowercase:
        lowercase(characters);
        break;
    }
  }
}

std::string Normalizer::apply_to(std::string_view text) const {
  Characters characters;
  append_characters(text, 0, characters);
  apply(characters);
  std::string out;
  for (const Character& c : characters) utf8::append(c.code, out);
  return out;
}

}  // namespace longformer::text
