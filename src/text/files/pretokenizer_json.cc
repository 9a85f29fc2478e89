// Reads the pre_tokenizer of a tokenizer.json.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "longformer/error.h"
#include "text/gpt2_scanner.h"
#include "text/pretokenizer.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxSteps = 64;

constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors = {{
    {"Removed", SplitBehavior::kRemoved},
    {"Isolated", SplitBehavior::kIsolated},
    {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    {"MergedWithNext", SplitBehavior::kMergedWithNext},
    {"Contiguous", SplitBehavior::kContiguous},
}};

SplitBehavior read_behavior(const JsonObject& part, const char* fallback) {
  const std::string name =
      fallback == nullptr ? part.string("behavior") : part.string("behavior", fallback);
  const auto known = std::find_if(kBehaviors.begin(), kBehaviors.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (known == kBehaviors.end()) {
    part.fail("behavior",
              "must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  }
  return known->second;
}

std::string read_character(const JsonObject& part, const char* key) {
  std::string character = part.string(key);
  size_t at = 0;
  if (!character.empty()) utf8::next(character, at);
  if (at == 0 || at != character.size()) part.fail(key, "must be one character");
  return character;
}

MetaspaceSplit read_metaspace(const JsonObject& part) {
  MetaspaceSplit split;
  split.replacement = read_character(part, "replacement");
  const std::string scheme = part.string("prepend_scheme", "always");
  if (scheme == "always") {
    split.prepend = MetaspaceSplit::Prepend::kAlways;
  } else if (scheme == "first") {
    split.prepend = MetaspaceSplit::Prepend::kFirst;
  } else if (scheme == "never") {
    split.prepend = MetaspaceSplit::Prepend::kNever;
  } else {
    part.fail("prepend_scheme", "must be always, first or never");
  }
  if (!part.boolean("add_prefix_space", true) && scheme != "never") {
    part.fail("add_prefix_space", "is false, which prepend_scheme \"" + scheme +
                                      "\" contradicts; set prepend_scheme to \"never\"");
  }
  split.split = part.boolean("split", true);
  return split;
}

PatternSplit read_pattern(const JsonObject& part) {
  PatternSplit split;
  split.behavior = read_behavior(part, nullptr);
  split.invert = part.boolean("invert");
  const JsonObject pattern(part.object("pattern"), part.member("pattern"), part.place());
  if (pattern.find("Regex") == nullptr) {
    split.literal = pattern.string("String");
    if (split.literal.empty()) {
      throw Error(ErrorCode::kUnsupported, pattern.name() + " that is empty", part.place());
    }
    return split;
  }
  const std::string regex = pattern.string("Regex");
  // Its matches cover the text, so that these settings all keep each match as a word.
  const bool keeps_matches = split.invert ? split.behavior == SplitBehavior::kRemoved
                                          : split.behavior == SplitBehavior::kIsolated;
  if (regex == kGpt2Pattern && keeps_matches) {
    split.kind = PatternSplit::Kind::kGpt2;
  } else {
    split.kind = PatternSplit::Kind::kRegex;
    split.regex.emplace(regex, part.place());
  }
  return split;
}

CharacterSplit character_split(CharacterSplit::Set set, SplitBehavior behavior) {
  CharacterSplit split;
  split.set = set;
  split.behavior = behavior;
  return split;
}

CharacterSplit read_delimiter(const JsonObject& part) {
  CharacterSplit split = character_split(CharacterSplit::Set::kDelimiter, SplitBehavior::kRemoved);
  const std::string delimiter = read_character(part, "delimiter");
  size_t at = 0;
  split.delimiter = utf8::next(delimiter, at);
  return split;
}

LengthSplit read_length(const JsonObject& part) {
  LengthSplit split;
  if (part.find("length") != nullptr) split.length = part.natural("length");
  if (split.length == 0) part.fail("length", "must be at least 1");
  return split;
}

PreTokenizerStep read_step(const JsonObject& part) {
  using Set = CharacterSplit::Set;
  const std::string type = part.type();
  if (type == "BertPreTokenizer") return BertSplit{};
  if (type == "ByteLevel") {
    part.boolean("trim_offsets");  // of the post-processor alone
    return ByteLevelSplit{part.boolean("add_prefix_space"), part.boolean("use_regex", true)};
  }
  if (type == "Metaspace") return read_metaspace(part);
  if (type == "Whitespace") return WordSplit{};
  if (type == "WhitespaceSplit") return character_split(Set::kSpace, SplitBehavior::kRemoved);
  if (type == "Punctuation") {
    return character_split(Set::kPunctuation, read_behavior(part, "Isolated"));
  }
  if (type == "Digits") {
    return character_split(Set::kNumeric, part.boolean("individual_digits")
                                              ? SplitBehavior::kIsolated
                                              : SplitBehavior::kContiguous);
  }
  if (type == "CharDelimiterSplit") return read_delimiter(part);
  if (type == "Split") return read_pattern(part);
  if (type == "FixedLength") return read_length(part);
  throw Error(ErrorCode::kUnsupported,
              part.name() + " of type \"" + printable(type) +
                  "\" is not supported by this version, which has BertPreTokenizer, ByteLevel, "
                  "Metaspace, Whitespace, WhitespaceSplit, Punctuation, Digits, "
                  "CharDelimiterSplit, Split, FixedLength and Sequence",
              part.place());
}

// Nested at most as deep as parse_json() allows.
void read_steps(const Json& json, const std::string& name, const std::string& place,
                std::vector<PreTokenizerStep>& steps) {
  const JsonObject part(json, name, place);
  if (part.type() == "Sequence") {
    for (const Json& inner : part.array("pretokenizers")) {
      read_steps(inner, part.member("pretokenizers"), place, steps);
    }
    return;
  }
  if (steps.size() >= kMaxSteps) {
    throw Error(ErrorCode::kInvalidFile,
                name + " has more than " + std::to_string(kMaxSteps) + " steps", place);
  }
  steps.push_back(read_step(part));
}

}  // namespace

PreTokenizer read_pretokenizer(const Json& json, const std::string& place) {
  std::vector<PreTokenizerStep> steps;
  read_steps(json, "pre_tokenizer", place, steps);
  return PreTokenizer(std::move(steps));
}

}  // namespace longformer::text
