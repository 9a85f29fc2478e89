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

// Processor time that patterns may take for one text, however many of them and of its words: 1 s
// and 1 µs for each byte. Patterns of published files need less than 0.2 µs a byte.
class RegexBudget {
 public:
  explicit RegexBudget(size_t bytes);

  // Around each stretch of matching; spent() within it, often.
  void begin();
  void end();
  bool spent() const;

 private:
  // The clock of the thread is slow to read and counts all work on the text, the other one is quick
  // and also counts what else the machine does: the time is over where it is by both.
  double limit_;
  double thread_start_;
  double used_ = 0;  // by the quick clock, within finished stretches
  double begin_ = 0;
};

class Regex {
 public:
  // `pattern` in the syntax of the reference (Oniguruma), whose common part with PCRE2 is accepted.
  // Throws kInvalidFile at `place` for a pattern that does not compile or is too long.
  Regex(const std::string& pattern, const std::string& place);
  // Replaces `out` by the matches in valid UTF-8, left to right, not overlapping; an empty match
  // never stands right behind another match, as in the reference. Throws kInvalidFile naming the
  // rule when a limit is hit.
  void find_all(std::string_view text, std::vector<RegexMatch>& out, RegexBudget& budget) const;
  // The same where no other pattern is applied to the text.
  void find_all(std::string_view text, std::vector<RegexMatch>& out) const {
    RegexBudget budget(text.size());
    find_all(text, out, budget);
  }

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace longformer::text
