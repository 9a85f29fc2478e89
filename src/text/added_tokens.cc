#include "text/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

bool ends_with_word(std::string_view text, size_t end) {
  if (end == 0) return false;
  size_t at = utf8::previous(text, end);
  return unicode::flags(utf8::next(text, at)) & unicode::kWord;
}

bool starts_with_word(std::string_view text, size_t at) {
  if (at == text.size()) return false;
  return unicode::flags(utf8::next(text, at)) & unicode::kWord;
}

// Start of the white space that ends at `end`, at least `floor`.
size_t space_before(std::string_view text, size_t end, size_t floor) {
  while (end > floor) {
    const size_t begin = utf8::previous(text, end);
    size_t at = begin;
    if ((unicode::flags(utf8::next(text, at)) & unicode::kSpace) == 0) break;
    end = begin;
  }
  return end;
}

size_t space_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if ((unicode::flags(utf8::next(text, next)) & unicode::kSpace) == 0) break;
    at = next;
  }
  return at;
}

// Beyond this length of a token, in bytes, a walk for every byte of the text is too slow.
constexpr size_t kLongPattern = 64;

std::vector<std::pair<std::string_view, int32_t>> places_of(
    const std::vector<AddedTokenMatcher::Pattern>& patterns) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(patterns.size());
  for (size_t i = 0; i < patterns.size(); ++i) {
    entries.emplace_back(patterns[i].text, static_cast<int32_t>(i));
  }
  return entries;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<Pattern> patterns)
    : patterns_(std::move(patterns)), trie_(places_of(patterns_)) {
  bool any_long = false;
  for (const Pattern& p : patterns_) {
    starts_[static_cast<uint8_t>(p.text[0])] = true;
    any_long = any_long || p.text.size() > kLongPattern;
  }
  if (any_long) long_patterns_.emplace(places_of(patterns_));
}

size_t AddedTokenMatcher::find_first_byte(std::string_view text, size_t at) const {
  while (at < text.size() && !starts_[static_cast<uint8_t>(text[at])]) ++at;
  return at;
}

void AddedTokenMatcher::split(std::string_view text, std::vector<Split>& out) const {
  out.clear();
  const auto push = [&out](size_t begin, size_t end, int32_t id) {
    if (begin < end) out.push_back({begin, end, id});
  };
  size_t covered = 0;  // end of the last split
  size_t run_begin =
      0;  // white space measured last, so that overlapping matches do not measure it again
  size_t run_end = 0;
  std::vector<uint32_t> places;
  if (long_patterns_) long_patterns_->find(text, places);
  for (size_t at = 0; !patterns_.empty() && (at = find_first_byte(text, at)) < text.size();) {
    const Trie::Match match = long_patterns_ ? long_patterns_->match(places[at])
                                             : trie_.longest(Trie::kRoot, text.substr(at));
    if (match.value == Trie::kNoValue) {
      ++at;
      continue;
    }
    const Pattern& pattern = patterns_[static_cast<size_t>(match.value)];
    size_t begin = at;
    size_t end = at + match.length;
    at = end;
    if (pattern.single_word && (ends_with_word(text, begin) || starts_with_word(text, end))) {
      continue;
    }
    if (pattern.lstrip)
      begin = std::max(space_before(text, begin, std::min(begin, covered)), covered);
    if (pattern.rstrip) {
      if (end < run_begin || end >= run_end) {
        run_begin = end;
        run_end = space_after(text, end);
      }
      end = std::max(end, run_end);
    }
    push(covered, begin, -1);
    push(begin, end, pattern.id);
    covered = end;
  }
  push(covered, text.size(), -1);
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const Normalizer& normalizer,
                         int64_t model_size,
                         const std::function<int32_t(std::string_view)>& model_id,
                         const std::function<bool(int64_t)>& is_model_id,
                         const std::string& place) {
  // The reference's order: a special token is matched as first given, before the others, while
  // flags of a repeated content are those given last. One that was first given as not special is
  // matched as that too.
  std::vector<const AddedToken*> order;
  for (const AddedToken& token : tokens) {
    if (token.special && !token.content.empty() && special_.insert(token.content).second) {
      order.push_back(&token);
    }
  }
  std::unordered_set<std::string_view> special_so_far;
  std::unordered_map<int32_t, const AddedToken*> by_id;
  std::unordered_map<std::string_view, std::vector<const AddedToken*>> seen;
  int64_t next_id = model_size;
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    std::vector<const AddedToken*>& same = seen[token.content];
    if (std::any_of(same.begin(), same.end(), [&](const AddedToken* t) { return *t == token; })) {
      continue;
    }
    same.push_back(&token);
    if (token.special) special_so_far.insert(token.content);
    int32_t id = model_id(token.content);
    if (id < 0) {
      const auto known = ids_.find(token.content);
      if (known == ids_.end()) {
        if (next_id >= kMaxVocabulary || is_model_id(next_id)) {
          throw Error(ErrorCode::kInvalidFile,
                      "an added token would get the id " + std::to_string(next_id) +
                          ", which is taken or beyond " + std::to_string(kMaxVocabulary - 1) +
                          "; give the vocabulary ids without gaps",
                      place);
        }
        id = static_cast<int32_t>(next_id++);
      } else {
        id = known->second;
      }
    }
    ids_[token.content] = id;
    by_id[id] = &token;
    if (!special_so_far.contains(token.content)) order.push_back(&token);
  }
  std::vector<AddedTokenMatcher::Pattern> raw;
  std::vector<AddedTokenMatcher::Pattern> normalized;
  for (const AddedToken* token : order) {
    const int32_t id = ids_.at(token->content);
    const AddedToken& flags = *by_id.at(id);
    std::string text = token->normalized ? normalizer.apply_to(token->content) : token->content;
    if (text.empty()) {
      throw Error(ErrorCode::kInvalidFile,
                  "the added token with id " + std::to_string(id) +
                      " is empty after normalisation; set its \"normalized\" to false",
                  place);
    }
    (token->normalized ? normalized : raw)
        .push_back({std::move(text), id, flags.single_word, flags.lstrip, flags.rstrip});
  }
  raw_ = AddedTokenMatcher(std::move(raw));
  normalized_ = AddedTokenMatcher(std::move(normalized));
}

}  // namespace longformer::text
