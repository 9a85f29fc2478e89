#include "text/unicode/graphemes.h"

#include "text/unicode/unicode_forms.h"

namespace longformer::text {
namespace {

using Kind = unicode::GraphemeKind;

bool extends(Kind kind) {
  return kind == Kind::kExtend || kind == Kind::kZwj || kind == Kind::kLinker ||
         kind == Kind::kIndicExtend;
}

// What the characters since the beginning of a cluster say about the next border.
class Cluster {
 public:
  explicit Cluster(Kind first) : last_(first) { note(first); }

  // Whether the next character, of this kind, belongs to the cluster; then takes it in.
  bool take(Kind next) {
    if (!joins(next)) return false;
    note(next);
    last_ = next;
    return true;
  }

 private:
  bool joins(Kind next) const {
    if (last_ == Kind::kControl || next == Kind::kControl) return false;
    if (extends(next) || next == Kind::kSpacingMark) return true;
    switch (last_) {
      case Kind::kPrepend:
        return true;
      case Kind::kLead:
        return next == Kind::kLead || next == Kind::kVowel || next == Kind::kLeadVowel ||
               next == Kind::kLeadVowelTrail;
      case Kind::kLeadVowel:
      case Kind::kVowel:
        return next == Kind::kVowel || next == Kind::kTrail;
      case Kind::kLeadVowelTrail:
      case Kind::kTrail:
        return next == Kind::kTrail;
      default:
        return (next == Kind::kPictographic && pictograph_joined_) ||
               (next == Kind::kConsonant && conjunct_linked_);
    }
  }

  void note(Kind kind) {
    pictograph_joined_ = after_pictograph_ && kind == Kind::kZwj;
    after_pictograph_ = kind == Kind::kPictographic || (after_pictograph_ && extends(kind));
    if (kind == Kind::kConsonant) {
      after_consonant_ = true;
      conjunct_linked_ = false;
    } else if (after_consonant_ && kind == Kind::kLinker) {
      conjunct_linked_ = true;
    } else if (kind != Kind::kIndicExtend && kind != Kind::kZwj) {
      after_consonant_ = false;
      conjunct_linked_ = false;
    }
  }

  Kind last_;
  bool after_pictograph_ = false;   // a pictograph and Extend characters
  bool pictograph_joined_ = false;  // and a joiner
  bool after_consonant_ = false;    // a consonant and characters that may follow in a conjunct
  bool conjunct_linked_ = false;    // a linker among them
};

}  // namespace

size_t grapheme_end(const Characters& characters, size_t begin) {
  size_t at = begin + 1;
  if (at == characters.size()) return at;
  const char32_t first = characters[begin].code;
  const char32_t second = characters[at].code;
  if (first == U'\r' && second == U'\n') return at + 1;
  if (first < 0xA9 && second < 0x300) return at;  // nothing there extends or prepends
  Cluster cluster(unicode::grapheme_kind(first));
  while (at < characters.size() && cluster.take(unicode::grapheme_kind(characters[at].code))) ++at;
  return at;
}

}  // namespace longformer::text
