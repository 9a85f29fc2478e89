// Which tokens of a sequence are global, where a user says otherwise than the task does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/task_model.h"
#include "text/regex.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

// Bytes of a text, in order, none of them empty.
using GlobalMatches = std::vector<text::RegexMatch>;

// none | first | question (in front of the first separator) | POSITIONS ("0,7,12-20", positions of
// the sequence from 0, special tokens counted; those behind its end are ignored) | token:ID
// | regex:PATTERN (tokens that overlap a match in a text; the pattern is the last rule). Several
// joined by "+": "first+regex:\bSection\b".
class GlobalRule {
 public:
  // Throws kInvalidArgument saying what is allowed; kUnsupported for a family without global
  // attention, unless the rule is "none".
  static GlobalRule parse(const std::string& text, const TaskInfo& info);

  // What the pattern finds in a text: once for all windows over it. Throws kInvalidArgument where
  // the pattern takes too many steps.
  GlobalMatches find(std::string_view text) const;
  // One a token. first, second: of what the offsets of sequence 0 and 1 point into.
  std::vector<uint8_t> apply(const TaskInfo& info, const text::Encoding& tokens,
                             const GlobalMatches& first, const GlobalMatches& second) const;
  // Of ids without text: regex: throws kInvalidArgument ("needs a text").
  std::vector<uint8_t> apply(const TaskInfo& info, std::span<const int64_t> ids) const;

 private:
  struct Part;
  std::vector<std::shared_ptr<const Part>> parts_;
};

}  // namespace longformer::tasks
