#include "tasks/entities.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace longformer::tasks {
namespace {

bool has_prefix(std::string_view label) { return label.size() >= 2 && label[1] == '-'; }

std::string_view behind_hyphen(std::string_view label) {
  const size_t hyphen = label.find('-');
  return hyphen == std::string_view::npos ? label : label.substr(hyphen + 1);
}

}  // namespace

LabelScheme detect_scheme(std::span<const std::string> labels) {
  std::set<std::string_view> open, closed;
  for (const std::string& label : labels) {
    if (!has_prefix(label)) continue;
    const std::string_view type = std::string_view(label).substr(2);
    if (label[0] == 'B' || label[0] == 'I') open.insert(type);
    if (std::string_view("ELSU").find(label[0]) != std::string_view::npos) closed.insert(type);
  }
  const bool both = std::any_of(closed.begin(), closed.end(),
                                [&](std::string_view type) { return open.count(type) > 0; });
  return both ? LabelScheme::kBioes : LabelScheme::kBio;
}

TokenScores::TokenScores(size_t tokens, size_t labels, bool keep_all)
    : labels_(labels), best_(tokens), all_(keep_all ? tokens * labels : 0) {}

// Rounded as the reference's scores are, so that of scores that are equal there the first one wins.
void TokenScores::set(size_t token, std::span<const double> scores) {
  Best best{0, static_cast<float>(scores[0])};
  for (size_t label = 0; label < scores.size(); ++label) {
    const auto score = static_cast<float>(scores[label]);
    if (score > best.score) best = {static_cast<uint32_t>(label), score};
    if (!all_.empty()) all_[token * labels_ + label] = score;
  }
  best_[token] = best;
}

void TokenScores::copy(size_t token, const TokenScores& from, size_t from_token) {
  best_[token] = from.best_[from_token];
  if (all_.empty()) return;
  const std::span<const float> row = from.all(from_token);
  std::copy(row.begin(), row.end(), all_.begin() + static_cast<std::ptrdiff_t>(token * labels_));
}

std::span<const float> TokenScores::all(size_t token) const {
  return std::span(all_).subspan(token * labels_, labels_);
}

namespace {

LabelledTokens average(const TokenScores& scores, size_t begin, size_t end) {
  std::vector<double> sums(scores.labels());
  for (size_t token = begin; token < end; ++token) {
    const std::span<const float> row = scores.all(token);
    for (size_t label = 0; label < row.size(); ++label) sums[label] += row[label];
  }
  LabelledTokens word{begin, end, 0, 0};
  for (size_t label = 0; label < sums.size(); ++label) {
    const auto mean = static_cast<float>(sums[label] / static_cast<double>(end - begin));
    if (label == 0 || mean > word.score) {
      word.label = label;
      word.score = mean;
    }
  }
  return word;
}

}  // namespace

LabelledTokens label_word(const TokenScores& scores, size_t begin, size_t end,
                          Aggregation aggregation) {
  if (aggregation == Aggregation::kAverage) return average(scores, begin, end);
  size_t chosen = begin;
  if (aggregation == Aggregation::kMax) {
    for (size_t token = begin; token < end; ++token) {
      if (scores.score(token) > scores.score(chosen)) chosen = token;
    }
  }
  return {begin, end, scores.label(chosen), scores.score(chosen)};
}

std::vector<LabelledTokens> label_tokens(const TokenScores& scores,
                                         std::span<const uint8_t> continues,
                                         Aggregation aggregation) {
  const bool words = aggregation != Aggregation::kNone && aggregation != Aggregation::kSimple;
  std::vector<LabelledTokens> units;
  for (size_t begin = 0; begin < scores.tokens();) {
    size_t end = begin + 1;
    while (words && end < scores.tokens() && continues[end] != 0) ++end;
    units.push_back(label_word(scores, begin, end, aggregation));
    begin = end;
  }
  return units;
}

LabelRules::LabelRules(std::span<const std::string> labels, LabelScheme scheme) {
  std::map<std::string_view, size_t> types;
  for (const std::string& label : labels) {
    names_.emplace_back(behind_hyphen(label));
    Rule rule;
    bool prefixed = false;
    if (has_prefix(label)) {
      prefixed = label[0] == 'B' || label[0] == 'I';
      if (label[0] == 'B') rule.kind = Kind::kBegin;
      if (scheme == LabelScheme::kBioes) {
        const std::string_view known = "ELSUM";
        prefixed = prefixed || known.find(label[0]) != std::string_view::npos;
        if (label[0] == 'E' || label[0] == 'L') rule.kind = Kind::kLast;
        if (label[0] == 'S' || label[0] == 'U') rule.kind = Kind::kOnly;
      }
    }
    const std::string_view type = std::string_view(label).substr(prefixed ? 2 : 0);
    rule.type = types.emplace(type, types.size()).first->second;
    rules_.push_back(rule);
  }
}

bool LabelRules::joins(size_t previous, size_t label) const {
  const Rule& before = rules_[previous];
  const Rule& rule = rules_[label];
  const bool open = before.kind == Kind::kBegin || before.kind == Kind::kInside;
  const bool goes_on = rule.kind == Kind::kInside || rule.kind == Kind::kLast;
  return before.type == rule.type && open && goes_on;
}

std::vector<LabelGroup> group_labels(std::span<const LabelledTokens> units,
                                     const LabelRules& rules) {
  std::vector<LabelGroup> groups;
  for (size_t begin = 0; begin < units.size();) {
    size_t end = begin + 1;
    if (units[begin].label == kNoLabel) {
      begin = end;
      continue;
    }
    double sum = units[begin].score;
    for (; end < units.size() && units[end].label != kNoLabel &&
           rules.joins(units[end - 1].label, units[end].label);
         ++end) {
      sum += units[end].score;
    }
    groups.push_back({begin, end, sum / static_cast<double>(end - begin)});
    begin = end;
  }
  return groups;
}

std::vector<size_t> drop_overlapping(std::span<const ScoredRange> sorted) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const ScoredRange& range = sorted[i];
    if (kept.empty() || range.begin < sorted[kept.back()].begin ||
        range.begin >= sorted[kept.back()].end) {
      kept.push_back(i);
      continue;
    }
    const ScoredRange& before = sorted[kept.back()];
    const int64_t length = range.end - range.begin;
    const int64_t length_before = before.end - before.begin;
    if (length > length_before || (length == length_before && range.score > before.score)) {
      kept.back() = i;
    }
  }
  return kept;
}

}  // namespace longformer::tasks
