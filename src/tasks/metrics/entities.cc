#include "tasks/metrics/entities.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "longformer/error.h"

namespace longformer::tasks {
namespace {

enum class Types { kAny, kSame, kDifferent };

// Two neighbouring tags: the prefixes that may stand left and right, and how their types relate.
struct Pair {
  std::string_view left;  // empty: any
  std::string_view right;
  Types types;
};

struct Rules {
  std::string_view name;
  std::string_view prefixes;
  std::span<const Pair> begins;  // the right one begins an entity
  std::span<const Pair> goes_on;
  std::span<const Pair> ends;  // the left one ends an entity
};

using enum Types;
constexpr std::array kIob1Begins = {Pair{"OB", "I", kAny}, Pair{"I", "I", kDifferent},
                                    Pair{"IB", "B", kSame}};
constexpr std::array kIobGoesOn = {Pair{"BI", "I", kSame}};
constexpr std::array kIob1Ends = {Pair{"I", "OB", kAny}, Pair{"BI", "I", kDifferent},
                                  Pair{"B", "O", kAny}, Pair{"B", "B", kSame}};
constexpr std::array kIob2Begins = {Pair{"", "B", kAny}};
constexpr std::array kIob2Ends = {Pair{"BI", "OB", kAny}, Pair{"BI", "I", kDifferent}};
constexpr std::array kIoe1Begins = {Pair{"OE", "I", kAny}, Pair{"I", "I", kDifferent},
                                    Pair{"E", "E", kSame}};
constexpr std::array kIoeGoesOn = {Pair{"I", "IE", kSame}};
constexpr std::array kIoe1Ends = {Pair{"I", "IE", kDifferent}, Pair{"I", "O", kAny},
                                  Pair{"E", "IE", kSame}};
constexpr std::array kIoe2Begins = {Pair{"OE", "IE", kAny}, Pair{"I", "IE", kDifferent}};
constexpr std::array kIoe2Ends = {Pair{"E", "", kAny}};
constexpr std::array kIobesBegins = {Pair{"", "BS", kAny}};
constexpr std::array kIobesGoesOn = {Pair{"BI", "IE", kSame}};
constexpr std::array kIobesEnds = {Pair{"SE", "", kAny}};
constexpr std::array kBilouBegins = {Pair{"", "BU", kAny}};
constexpr std::array kBilouGoesOn = {Pair{"BI", "IL", kSame}};
constexpr std::array kBilouEnds = {Pair{"UL", "", kAny}};

// In the order of TagScheme.
constexpr std::array kSchemes = {
    Rules{"lenient", "BIESO", {}, {}, {}},
    Rules{"IOB1", "IOB", kIob1Begins, kIobGoesOn, kIob1Ends},
    Rules{"IOB2", "IOB", kIob2Begins, kIobGoesOn, kIob2Ends},
    Rules{"IOE1", "IOE", kIoe1Begins, kIoeGoesOn, kIoe1Ends},
    Rules{"IOE2", "IOE", kIoe2Begins, kIoeGoesOn, kIoe2Ends},
    Rules{"IOBES", "IOBES", kIobesBegins, kIobesGoesOn, kIobesEnds},
    Rules{"BILOU", "BILOU", kBilouBegins, kBilouGoesOn, kBilouEnds},
};

struct Tag {
  char prefix = 'O';
  std::string_view type = "_";
};

bool any(std::span<const Pair> pairs, const Tag& left, const Tag& right) {
  const auto in = [](char prefix, std::string_view set) {
    return set.empty() || set.find(prefix) != std::string_view::npos;
  };
  return std::any_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return in(left.prefix, pair.left) && in(right.prefix, pair.right) &&
           (pair.types == kAny || (left.type == right.type) == (pair.types == kSame));
  });
}

void check_prefixes(const Tags& tags, const Rules& rules) {
  for (size_t i = 0; i < tags.size(); ++i) {
    if (!tags[i].empty() && rules.prefixes.find(tags[i][0]) != std::string_view::npos) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "token " + std::to_string(i + 1) + " has a tag whose prefix the scheme " +
                    std::string(rules.name) + " lacks: a tag begins with one of the letters " +
                    std::string(rules.prefixes) + "; name the scheme that the tags have");
  }
}

std::vector<Tag> strict_tags(const Tags& tags) {
  std::vector<Tag> result;
  for (const std::string& text : tags) {
    // Hyphens on both sides of the type do not count.
    std::string_view type = std::string_view(text).substr(1);
    type.remove_prefix(std::min(type.find_first_not_of('-'), type.size()));
    type = type.substr(0, type.find_last_not_of('-') + 1);
    result.push_back({text[0], type.empty() ? "_" : type});
  }
  return result;
}

std::vector<Entity> strict_entities(const Tags& texts, const Rules& rules) {
  std::vector<Tag> tags = strict_tags(texts);
  tags.push_back({});  // the O behind the last one belongs to no entity
  std::vector<Entity> entities;
  Tag previous;
  for (size_t i = 0; i < tags.size();) {
    size_t end = i + 1;
    if (any(rules.begins, previous, tags[i])) {
      while (end < tags.size() && any(rules.goes_on, tags[end - 1], tags[end])) ++end;
      if (any(rules.ends, tags[end - 1], tags[end])) {
        entities.push_back(
            {std::string(tags[i].type), static_cast<int64_t>(i), static_cast<int64_t>(end)});
      }
    }
    previous = tags[end - 1];
    i = end;
  }
  return entities;
}

// Types begin behind the first hyphen, and "IPER" has the type PER as well.
Tag lenient_tag(std::string_view text) {
  Tag tag{text[0], text.substr(1)};
  if (const size_t hyphen = tag.type.find('-'); hyphen != std::string_view::npos) {
    tag.type.remove_prefix(hyphen + 1);
  }
  if (tag.type.empty()) tag.type = "_";
  return tag;
}

bool one_of(char prefix, std::string_view set) {
  return set.find(prefix) != std::string_view::npos;
}

bool lenient_end(const Tag& left, const Tag& right) {
  if (one_of(left.prefix, "ES")) return true;
  if (one_of(left.prefix, "BI") && one_of(right.prefix, "BSO")) return true;
  return !one_of(left.prefix, "O.") && left.type != right.type;
}

bool lenient_begin(const Tag& left, const Tag& right) {
  if (one_of(right.prefix, "BS")) return true;
  if (one_of(left.prefix, "ESO") && one_of(right.prefix, "EI")) return true;
  return !one_of(right.prefix, "O.") && left.type != right.type;
}

std::vector<Entity> lenient_entities(const Tags& texts) {
  std::vector<Entity> entities;
  Tag previous;
  size_t begin = 0;
  for (size_t i = 0; i <= texts.size(); ++i) {
    const Tag tag = i < texts.size() ? lenient_tag(texts[i]) : Tag{};
    if (lenient_end(previous, tag)) {
      entities.push_back(
          {std::string(previous.type), static_cast<int64_t>(begin), static_cast<int64_t>(i)});
    }
    if (lenient_begin(previous, tag)) begin = i;
    previous = tag;
  }
  return entities;
}

void check_shapes(std::span<const Tags> gold, std::span<const Tags> predicted) {
  if (gold.size() != predicted.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                std::to_string(predicted.size()) + " predicted sequences for " +
                    std::to_string(gold.size()) + " gold ones: each needs one");
  }
  for (size_t i = 0; i < gold.size(); ++i) {
    if (gold[i].size() != predicted[i].size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::to_string(predicted[i].size()) + " predicted tags for " +
                      std::to_string(gold[i].size()) + " gold ones: each token needs one",
                  "sequence " + std::to_string(i + 1));
    }
  }
}

}  // namespace

TagScheme tag_scheme(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < kSchemes.size(); ++i) {
    if (kSchemes[i].name == name) return static_cast<TagScheme>(i);
    known += (i > 0 ? ", " : "") + std::string(kSchemes[i].name);
  }
  throw Error(ErrorCode::kInvalidArgument, "no such scheme of tags; there are: " + known);
}

std::vector<Entity> find_entities(const Tags& tags, TagScheme scheme) {
  const Rules& rules = kSchemes[static_cast<size_t>(scheme)];
  check_prefixes(tags, rules);
  return scheme == TagScheme::kLenient ? lenient_entities(tags) : strict_entities(tags, rules);
}

EntityReport entity_report(std::span<const Tags> gold, std::span<const Tags> predicted,
                           TagScheme scheme) {
  check_shapes(gold, predicted);
  std::map<std::string, Counts> types;
  int64_t tokens = 0, equal = 0;
  const auto find = [&](const Tags& tags, size_t sequence) {
    try {
      return find_entities(tags, scheme);
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), "sequence " + std::to_string(sequence + 1));
    }
  };
  for (size_t i = 0; i < gold.size(); ++i) {
    tokens += std::ssize(gold[i]);
    for (size_t t = 0; t < gold[i].size(); ++t) equal += gold[i][t] == predicted[i][t] ? 1 : 0;
    std::set<std::tuple<int64_t, int64_t, std::string>> wanted;
    for (const Entity& entity : find(gold[i], i)) {
      ++types[entity.type].gold;
      wanted.emplace(entity.begin, entity.end, entity.type);
    }
    for (const Entity& entity : find(predicted[i], i)) {
      Counts& counts = types[entity.type];
      ++counts.predicted;
      counts.right += wanted.contains({entity.begin, entity.end, entity.type}) ? 1 : 0;
    }
  }
  if (tokens == 0) throw Error(ErrorCode::kInvalidArgument, "there is nothing to evaluate");
  EntityReport report;
  report.accuracy = static_cast<double>(equal) / static_cast<double>(tokens);
  std::vector<Counts> counts;
  for (const auto& [type, of_type] : types) {
    report.types.push_back(type);
    report.scores.push_back(scores(of_type));
    counts.push_back(of_type);
  }
  report.averages = averages(counts);
  return report;
}

}  // namespace longformer::tasks
