// Patterns of tokenizer files, through PCRE2 with limits on matching steps, depth and memory: a
// pattern from a file must never make a text slow.
//
// The reference matches with Oniguruma in its own syntax; to_pcre2_syntax() translates. What stays
// different: letters that fold to several (a sharp s is no "ss" under (?i)), \b beside marks, \W
// within a set, names of properties that only one library has, and the texts of errors.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::text {

struct RegexMatch {
  size_t begin;  // bytes, half-open; begin == end where the pattern matches nothing at a place
  size_t end;
};

class Regex {
 public:
  // `pattern` in the syntax of the reference (Oniguruma), whose common part with PCRE2 is accepted.
  // Throws kInvalidFile at `place` for a pattern that does not compile or is too long.
  Regex(const std::string& pattern, const std::string& place);
  // Replaces `out` by the matches in valid UTF-8, left to right, not overlapping; an empty match
  // never stands right behind another match, as in the reference. Throws kInvalidFile naming the
  // rule when a limit is hit.
  void find_all(std::string_view text, std::vector<RegexMatch>& out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace longformer::text
