#include "text/normalizer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "longformer/error.h"
#include "text/charsmap.h"
#include "text/models/byte_alphabet.h"
#include "text/unicode/graphemes.h"
#include "text/unicode/normal_forms.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

// A normaliser may make a text this much longer; more is the work of a hostile file.
constexpr size_t kMaxGrowth = 64;
constexpr size_t kMaxGrowthOfShortText = 1u << 16;  // characters

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

bool is_space(const Character& c) { return (unicode::flags(c.code) & unicode::kSpace) != 0; }

void strip_left(Characters& characters) {
  characters.erase(characters.begin(),
                   std::find_if_not(characters.begin(), characters.end(), is_space));
}

void strip_right(Characters& characters) {
  const auto last = std::find_if_not(characters.rbegin(), characters.rend(), is_space);
  characters.erase(last.base(), characters.end());
}

bool is_dropped_by_nmt(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         c == 0x8F || c == 0x9F;
}

bool is_space_of_nmt(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

void nmt(Characters& characters) {
  std::erase_if(characters, [](const Character& c) { return is_dropped_by_nmt(c.code); });
  for (Character& c : characters) {
    if (is_space_of_nmt(c.code)) c.code = U' ';
  }
}

void byte_level(Characters& characters) {
  Characters out;
  out.reserve(characters.size() + characters.size() / 8);
  std::string bytes;
  for (const Character& c : characters) {
    bytes.clear();
    utf8::append(c.code, bytes);
    for (const char b : bytes) {
      out.push_back({byte_alphabet::character(static_cast<uint8_t>(b)), c.begin, c.end});
    }
  }
  characters.swap(out);
}

std::u32string to_code_points(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) out.push_back(utf8::next(text, at));
  return out;
}

[[noreturn]] void refuse_growth() {
  throw Error(ErrorCode::kInvalidFile, "the normaliser of this tokenizer makes a text more than " +
                                           std::to_string(kMaxGrowth) +
                                           " times as long; that is no normaliser's purpose");
}

void prepend(std::string_view text, Characters& characters) {
  if (characters.empty()) return;
  const std::u32string points = to_code_points(text);
  if (points.empty()) return;
  const Character place = characters.front();
  Characters front;
  front.reserve(points.size());
  for (const char32_t code : points) front.push_back({code, place.begin, place.end});
  characters.insert(characters.begin(), front.begin(), front.end());
}

// The characters as UTF-8, and where each begins in it.
struct Utf8Text {
  std::string bytes;
  std::vector<uint32_t> begins;  // one more than characters

  explicit Utf8Text(const Characters& characters) {
    bytes.reserve(characters.size());
    begins.reserve(characters.size() + 1);
    for (const Character& c : characters) {
      begins.push_back(static_cast<uint32_t>(bytes.size()));
      utf8::append(c.code, bytes);
    }
    begins.push_back(static_cast<uint32_t>(bytes.size()));
  }
};

void find_literal(std::string_view text, std::string_view literal, std::vector<RegexMatch>& out) {
  for (size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size())) {
    out.push_back({at, at + literal.size()});
  }
}

// What is put in takes the place of the last character that it replaces, or else of the one before.
void replace(const NormalizerRule& rule, size_t max_size, RegexBudget& budget,
             Characters& characters) {
  if (characters.empty()) return;
  const Utf8Text text(characters);
  std::vector<RegexMatch> matches;
  if (rule.pattern) {
    rule.pattern->find_all(text.bytes, matches, budget);
  } else {
    find_literal(text.bytes, rule.literal, matches);
  }
  if (matches.empty()) return;
  const std::u32string content = to_code_points(rule.text);
  if (characters.size() + matches.size() * content.size() > max_size) refuse_growth();
  Characters out;
  out.reserve(characters.size() + matches.size() * content.size());
  size_t at = 0;  // characters copied or replaced so far
  for (const RegexMatch& match : matches) {
    for (; text.begins[at] < match.begin; ++at) out.push_back(characters[at]);
    while (text.begins[at] < match.end) ++at;
    const Character place = at > 0 ? characters[at - 1] : Character{0, 0, 0};
    for (const char32_t code : content) out.push_back({code, place.begin, place.end});
  }
  out.insert(out.end(), characters.begin() + static_cast<ptrdiff_t>(at), characters.end());
  characters.swap(out);
}

// Changes that put `text` in place of `old_count` characters.
void change_to(std::string_view text, size_t old_count, std::vector<Change>& changes) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    changes.push_back({utf8::next(text, at), count < old_count ? 0 : 1});
  }
  // The reference lets the character before the removed ones take them away; where there is none,
  // they stay in the count and the places of the rest lag behind.
  if (count < old_count && !changes.empty()) {
    changes.back().change -= static_cast<int32_t>(old_count - count);
  }
}

constexpr size_t kMaxClusterBytes = 5;  // longer ones are looked up character by character

// Replaces clusters of at most five bytes whole where the map has an entry that they start with,
// and else character by character.
void apply_charsmap(const Charsmap& charsmap, size_t max_size, Characters& characters) {
  bool is_changed = false;
  std::vector<Change> changes;
  changes.reserve(characters.size() + 8);
  std::string bytes;
  for (size_t at = 0; at < characters.size();) {
    const char32_t code = characters[at].code;
    if (code < 0x80 && code != U'\r' && charsmap.keeps(code) &&
        (at + 1 == characters.size() || characters[at + 1].code < 0x300)) {
      changes.push_back({code, 0});  // a cluster of its own
      ++at;
      continue;
    }
    const size_t end = grapheme_end(characters, at);
    if (changes.size() > max_size) refuse_growth();
    bytes.clear();
    for (size_t i = at; i < end && bytes.size() <= kMaxClusterBytes; ++i) {
      utf8::append(characters[i].code, bytes);
    }
    if (bytes.size() <= kMaxClusterBytes) {
      if (const auto text = charsmap.find(bytes)) {
        is_changed = true;
        change_to(*text, end - at, changes);
        at = end;
        continue;
      }
    }
    for (; at < end; ++at) {
      bytes.clear();
      utf8::append(characters[at].code, bytes);
      if (const auto text = charsmap.find(bytes)) {
        is_changed = true;
        change_to(*text, 1, changes);
      } else {
        changes.push_back({characters[at].code, 0});
      }
    }
  }
  if (is_changed) apply_changes(changes, characters);
}

void apply_rule(const NormalizerRule& rule, size_t max_size, RegexBudget& budget,
                Characters& characters) {
  switch (rule.step) {
    case NormalizerStep::kCleanText:
      return clean_text(characters);
    case NormalizerStep::kPadCjk:
      return pad_cjk(characters);
    case NormalizerStep::kDecompose:
      return to_normal_form(NormalForm::kNfd, characters);
    case NormalizerStep::kCompose:
      return to_normal_form(NormalForm::kNfc, characters);
    case NormalizerStep::kDecomposeCompatible:
      return to_normal_form(NormalForm::kNfkd, characters);
    case NormalizerStep::kComposeCompatible:
      return to_normal_form(NormalForm::kNfkc, characters);
    case NormalizerStep::kRemoveNonspacing:
      return remove(unicode::kNonspacing, characters);
    case NormalizerStep::kRemoveMarks:
      return remove(unicode::kMark, characters);
    case NormalizerStep::kLowercase:
      return lowercase(characters);
    case NormalizerStep::kStripLeft:
      return strip_left(characters);
    case NormalizerStep::kStripRight:
      return strip_right(characters);
    case NormalizerStep::kNmt:
      return nmt(characters);
    case NormalizerStep::kByteLevel:
      return byte_level(characters);
    case NormalizerStep::kReplace:
      return replace(rule, max_size, budget, characters);
    case NormalizerStep::kPrepend:
      return prepend(rule.text, characters);
    case NormalizerStep::kCharsmap:
      return apply_charsmap(*rule.charsmap, max_size, characters);
  }
}

// Whether a step treats every ASCII character alone.
bool is_local(NormalizerStep step) {
  switch (step) {
    case NormalizerStep::kCompose:  // "<" and a stroke through it compose
    case NormalizerStep::kComposeCompatible:
    case NormalizerStep::kStripLeft:
    case NormalizerStep::kStripRight:
    case NormalizerStep::kReplace:
    case NormalizerStep::kPrepend:
    case NormalizerStep::kCharsmap:
      return false;
    default:
      return true;
  }
}

}  // namespace

void append_characters(std::string_view text, uint32_t offset, Characters& out) {
  for (size_t at = 0; at < text.size();) {
    const auto begin = static_cast<uint32_t>(at);
    const char32_t code = utf8::next(text, at);
    out.push_back({code, offset + begin, offset + static_cast<uint32_t>(at)});
  }
}

Normalizer::Normalizer(const std::vector<NormalizerStep>& steps) {
  for (const NormalizerStep step : steps) rules_.push_back({step});
}

bool Normalizer::is_local_for_ascii() const {
  return std::all_of(rules_.begin(), rules_.end(),
                     [](const NormalizerRule& rule) { return is_local(rule.step); });
}

void Normalizer::apply(Characters& characters, RegexBudget& budget) const {
  const size_t max_size = kMaxGrowth * characters.size() + kMaxGrowthOfShortText;
  for (const NormalizerRule& rule : rules_) {
    apply_rule(rule, max_size, budget, characters);
    if (characters.size() > max_size) refuse_growth();
  }
}

std::string Normalizer::apply_to(std::string_view text) const {
  Characters characters;
  append_characters(text, 0, characters);
  RegexBudget budget(text.size());
  apply(characters, budget);
  std::string out;
  for (const Character& c : characters) utf8::append(c.code, out);
  return out;
}

}  // namespace longformer::text
