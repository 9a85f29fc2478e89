#include "text/regex_syntax.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "longformer/error.h"

namespace longformer::text {
namespace {

// Contents of sets.
constexpr std::string_view kSpace =
    "\\t-\\r "
    "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kNoSpace =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"
    "\\x{3001}-\\x{d7ff}\\x{e000}-\\x{10ffff}";
constexpr std::string_view kHex = "0-9a-fA-F";
constexpr std::string_view kNoHex = "\\x{0}-/:-@G-`g-\\x{d7ff}\\x{e000}-\\x{10ffff}";
constexpr std::string_view kPosixWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view kWord =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

// [:name:] in a set.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPosix = {{
    {"alpha", "\\p{Alphabetic}"},
    {"digit", "\\p{Nd}"},
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"upper", "\\p{Uppercase}"},
    {"lower", "\\p{Lowercase}"},
    {"punct", "\\p{P}\\p{S}"},
    {"space", kSpace},
    {"word", kPosixWord},
    {"cntrl", "\\p{Cc}"},
    {"xdigit", kHex},
    {"blank", "\\p{Zs}\\t"},
}};
// \p{Name} where PCRE2 lacks the name or means another set.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kProperties = {{
    {"alpha", "Alphabetic"},
    {"digit", "Nd"},
    {"upper", "Uppercase"},
    {"lower", "Lowercase"},
    {"punct", "P"},
    {"space", "White_Space"},
    {"cntrl", "Cc"},
    {"letter", "L"},
    {"number", "N"},
}};

std::string lower_ascii(std::string_view text) {
  std::string out;
  for (const char c : text) out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  return out;
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& place)
      : pattern_(pattern), place_(place) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const size_t begin = out_.size();
      switch (const char c = pattern_[at_]) {
        case '\\':
          translate_escape();
          atom_ = begin;
          break;
        case '[':
          out_ += translate_set(0);
          atom_ = begin;
          break;
        case '(':
          groups_.push_back(begin);
          translate_group_start();
          break;
        case ')':
          out_ += pattern_[at_++];
          if (!groups_.empty()) {
            atom_ = groups_.back();
            groups_.pop_back();
          }
          break;
        case '{':
          translate_interval();
          break;
        default:
          out_ += c;
          ++at_;
          // A character of several bytes is one atom.
          if (c != '*' && c != '+' && c != '?' && (static_cast<uint8_t>(c) & 0xC0) != 0x80) {
            atom_ = begin;
          }
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorCode::kUnsupported,
                "a pattern uses " + what + ", which this version does not match", place_);
  }
  std::string_view rest() const { return pattern_.substr(at_); }

  // An escape at `at_` as PCRE2 writes it outside (`in_set` false) or inside a set; moves behind
  // it.
  std::string escape(bool in_set) {
    if (at_ + 1 >= pattern_.size()) {
      ++at_;
      return "\\";
    }
    const char c = pattern_[at_ + 1];
    at_ += 2;
    const auto set = [&](std::string_view yes, std::string_view no) {
      const bool complement = c < 'a';
      if (!in_set) return std::string(complement ? "[^" : "[") + std::string(yes) + "]";
      if (complement && no.empty()) unsupported("\\W within a set");
      return std::string(complement ? no : yes);
    };
    switch (c) {
      case 's':
      case 'S':
        return set(kSpace, kNoSpace);
      case 'h':
      case 'H':
        return set(kHex, kNoHex);
      case 'w':
      case 'W':
        return set(kWord, {});
      case 'u': {
        const std::string_view digits = rest().substr(0, 4);
        if (digits.size() < 4) unsupported("\\u without four digits");
        at_ += 4;
        return "\\x{" + std::string(digits) + "}";
      }
      case 'p':
      case 'P':
        return std::string("\\") + c + property();
      case 'k':
      case 'g':
      case 'x':
        return std::string("\\") + c + braces();
      default:
        return std::string("\\") + c;
    }
  }

  // {...} at `at_`, if there is one.
  std::string braces() {
    if (at_ >= pattern_.size() || pattern_[at_] != '{') return {};
    const size_t end = std::min(pattern_.find('}', at_), pattern_.size() - 1);
    const std::string text(pattern_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return text;
  }

  std::string property() {
    const std::string text = braces();
    if (text.size() < 3) return text;
    const bool complement = text[1] == '^';
    const std::string name = lower_ascii(
        std::string_view(text).substr(complement ? 2 : 1, text.size() - (complement ? 3 : 2)));
    for (const auto& [from, to] : kProperties) {
      if (name == from) return std::string(complement ? "{^" : "{") + std::string(to) + "}";
    }
    return text;
  }

  void translate_escape() { out_ += escape(false); }

  // (?m) means that the dot matches a line's end, which PCRE2 calls s; lines always count.
  void translate_group_start() {
    out_ += pattern_[at_++];
    if (rest().size() < 2 || rest()[0] != '?') return;
    size_t end = 1;
    const auto is_flag = [](char c) { return c == 'i' || c == 'm' || c == 'x' || c == '-'; };
    while (end < rest().size() && is_flag(rest()[end])) ++end;
    if (end == 1 || end == rest().size() || (rest()[end] != ':' && rest()[end] != ')')) {
      // (?<name>, (?=, (?<!, (?>, …: copied, so that its signs are no atoms.
      out_ += pattern_[at_++];
      while (at_ < pattern_.size() &&
             std::string_view("<=!>:").find(pattern_[at_]) != std::string_view::npos) {
        out_ += pattern_[at_++];
      }
      return;
    }
    for (size_t i = 0; i < end; ++i) out_ += rest()[i] == 'm' ? 's' : rest()[i];
    at_ += end;
    if (pattern_[at_] == ':') out_ += pattern_[at_++];
  }

  // {n,m}: {,m} begins at 0, and a + behind it repeats once more instead of forbidding a return.
  void translate_interval() {
    size_t end = at_ + 1;
    while (end < pattern_.size() &&
           (pattern_[end] == ',' || (pattern_[end] >= '0' && pattern_[end] <= '9'))) {
      ++end;
    }
    const std::string_view bounds = pattern_.substr(at_ + 1, end - at_ - 1);
    if (end >= pattern_.size() || pattern_[end] != '}' || bounds.empty() || bounds == ",") {
      atom_ = out_.size();
      out_ += "\\{";
      ++at_;
      return;
    }
    out_ += '{';
    if (bounds[0] == ',') out_ += '0';
    out_.append(bounds);
    out_ += '}';
    at_ = end + 1;
    if (at_ < pattern_.size() && pattern_[at_] == '+') {
      out_.insert(atom_, "(?:");
      out_ += ")+";
      ++at_;
    }
  }

  // A set at `at_`. A set within a set is put into it where it is no complement.
  std::string translate_set(size_t depth) {
    if (depth > 16) unsupported("sets nested more than 16 deep");
    std::string set = depth == 0 ? "[" : "";
    ++at_;
    bool is_first = true;
    if (at_ < pattern_.size() && pattern_[at_] == '^') {
      if (depth > 0) unsupported("a complement within a set");
      set += '^';
      ++at_;
    }
    for (; at_ < pattern_.size(); is_first = false) {
      const char c = pattern_[at_];
      if (c == ']' && !is_first) {
        ++at_;
        return depth == 0 ? set + "]" : set;
      }
      if (c == ']') {
        set += "\\]";
        ++at_;
      } else if (c == '\\') {
        set += escape(true);
      } else if (c == '[') {
        set += rest().substr(0, 2) == "[:" ? posix_set(depth) : translate_set(depth + 1);
      } else if (rest().substr(0, 2) == "&&") {
        unsupported("an intersection of sets");
      } else {
        set += c;
        ++at_;
      }
    }
    return set;  // without its end: PCRE2 says so
  }

  std::string posix_set(size_t depth) {
    const size_t end = pattern_.find(":]", at_ + 2);
    if (end == std::string_view::npos) return translate_set(depth + 1);
    const std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    for (const auto& [from, to] : kPosix) {
      if (name != from) continue;
      at_ = end + 2;
      return std::string(to);
    }
    unsupported("a POSIX class that is a complement or unknown");
  }

  std::string_view pattern_;
  const std::string& place_;
  std::string out_;
  size_t at_ = 0;
  size_t atom_ = 0;             // where the last atom begins in out_
  std::vector<size_t> groups_;  // where the open groups begin in out_
};

}  // namespace

std::string to_pcre2_syntax(std::string_view pattern, const std::string& place) {
  return Translator(pattern, place).run();
}

}  // namespace longformer::text
