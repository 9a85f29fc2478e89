#include "tasks/global_rule.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/limits.h"
#include "text/regex.h"

namespace longformer::tasks {
namespace {

constexpr const char* kAllowed =
    "allowed are none, first, question, positions such as 0,7,12-20, token:ID and regex:PATTERN, "
    "several joined by +";
constexpr size_t kMaxRuleBytes = 16384;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "global: " + what + "; " + kAllowed);
}

int64_t number(std::string_view text, std::string_view rule) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value >= kMaxSequence) {
    refuse("\"" + std::string(rule) + "\": \"" + std::string(text) + "\" is no number from 0 to " +
           std::to_string(kMaxSequence - 1));
  }
  return value;
}

struct PositionRange {
  int64_t first = 0;
  int64_t last = 0;
};

PositionRange range(std::string_view text, std::string_view rule) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {number(text, rule), number(text, rule)};
  const PositionRange result{number(text.substr(0, dash), rule),
                             number(text.substr(dash + 1), rule)};
  if (result.first > result.last) refuse("the range " + std::string(text) + " runs backwards");
  return result;
}

}  // namespace

struct GlobalRule::Part {
  enum class Kind { kFirst, kQuestion, kPositions, kToken, kRegex };
  Kind kind = Kind::kFirst;
  std::vector<PositionRange> positions;
  int64_t token = 0;
  std::optional<text::Regex> regex;

  static Part parse(const std::string& text);
  void mark(const TaskInfo& info, std::span<const int64_t> ids, std::vector<uint8_t>& mask) const;
};

GlobalRule::Part GlobalRule::Part::parse(const std::string& text) {
  Part part;
  if (text == "first") return part;
  if (text == "question") {
    part.kind = Kind::kQuestion;
  } else if (text.starts_with("token:")) {
    part.kind = Kind::kToken;
    part.token = number(std::string_view(text).substr(6), text);
  } else if (text.starts_with("regex:")) {
    part.kind = Kind::kRegex;
    if (text.size() == 6) refuse("regex: without a pattern");
    part.regex.emplace(text.substr(6), "global regex");
  } else if (!text.empty() && text.find_first_not_of("0123456789,-") == std::string::npos) {
    part.kind = Kind::kPositions;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      part.positions.push_back(range(std::string_view(text).substr(begin, end - begin), text));
      begin = end + 1;
    }
  } else {
    refuse("\"" + text + "\" is no rule");
  }
  return part;
}

GlobalRule GlobalRule::parse(const std::string& text, const TaskInfo& info) {
  GlobalRule rule;
  if (text == "none") return rule;
  if (!info.global_attention) {
    throw Error(ErrorCode::kUnsupported,
                "global: this model has no global attention; only Longformer's family has, others "
                "take \"none\"");
  }
  if (text.size() > kMaxRuleBytes) {
    refuse("a rule has at most " + std::to_string(kMaxRuleBytes) + " bytes");
  }
  // A pattern takes the rest, whatever it holds.
  for (size_t begin = 0; begin <= text.size();) {
    const bool regex = text.compare(begin, 6, "regex:") == 0;
    const size_t end = regex ? text.size() : std::min(text.find('+', begin), text.size());
    rule.parts_.push_back(
        std::make_shared<const Part>(Part::parse(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return rule;
}

void GlobalRule::Part::mark(const TaskInfo& info, std::span<const int64_t> ids,
                            std::vector<uint8_t>& mask) const {
  const auto tokens = static_cast<int64_t>(ids.size());
  switch (kind) {
    case Kind::kFirst:
      if (tokens > 0) mask[0] = 1;
      break;
    case Kind::kQuestion: {
      const auto end =
          info.sep_token_id ? std::find(ids.begin(), ids.end(), *info.sep_token_id) : ids.end();
      if (end != ids.end()) std::fill(mask.begin(), mask.begin() + (end - ids.begin()), uint8_t{1});
      break;
    }
    case Kind::kPositions:
      for (const PositionRange& range : positions) {
        for (int64_t t = range.first; t <= std::min(range.last, tokens - 1); ++t) {
          mask[static_cast<size_t>(t)] = 1;
        }
      }
      break;
    case Kind::kToken:
      for (size_t t = 0; t < ids.size(); ++t) mask[t] |= ids[t] == token ? 1 : 0;
      break;
    case Kind::kRegex:
      break;
  }
}

GlobalMatches GlobalRule::find(std::string_view text) const {
  GlobalMatches matches;
  for (const std::shared_ptr<const Part>& part : parts_) {
    if (part->kind != Part::Kind::kRegex || text.empty()) continue;
    try {
      part->regex->find_all(text, matches);
    } catch (const Error& error) {
      throw Error(ErrorCode::kInvalidArgument,
                  "takes too many steps in a text of " + std::to_string(text.size()) +
                      " bytes; write it with less repetition inside repetition",
                  "global: regex");
    }
  }
  std::erase_if(matches, [](const text::RegexMatch& match) { return match.begin == match.end; });
  return matches;
}

namespace {

void mark_matches(const text::Encoding& tokens, int8_t sequence, const GlobalMatches& matches,
                  std::vector<uint8_t>& mask) {
  if (matches.empty()) return;
  size_t next = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens.sequence[t] != sequence) continue;
    const auto begin = static_cast<size_t>(tokens.offsets[t].begin);
    const auto end = static_cast<size_t>(tokens.offsets[t].end);
    if (next == 0) {  // windows begin anywhere
      next = static_cast<size_t>(
          std::partition_point(matches.begin(), matches.end(),
                               [&](const auto& match) { return match.end <= begin; }) -
          matches.begin());
    }
    while (next < matches.size() && matches[next].end <= begin) ++next;
    if (next < matches.size() && matches[next].begin < end && begin < end) mask[t] = 1;
  }
}

}  // namespace

std::vector<uint8_t> GlobalRule::apply(const TaskInfo& info, const text::Encoding& tokens,
                                       const GlobalMatches& first,
                                       const GlobalMatches& second) const {
  std::vector<uint8_t> mask(tokens.size());
  for (const std::shared_ptr<const Part>& part : parts_) part->mark(info, tokens.ids, mask);
  mark_matches(tokens, 0, first, mask);
  mark_matches(tokens, 1, second, mask);
  return mask;
}

std::vector<uint8_t> GlobalRule::apply(const TaskInfo& info, std::span<const int64_t> ids) const {
  if (!parts_.empty() && parts_.back()->kind == Part::Kind::kRegex) {
    throw Error(ErrorCode::kInvalidArgument,
                "global: regex: needs a text to search, and there are only ids here");
  }
  text::Encoding tokens;
  tokens.ids.assign(ids.begin(), ids.end());
  return apply(info, tokens, {}, {});
}

}  // namespace longformer::tasks
