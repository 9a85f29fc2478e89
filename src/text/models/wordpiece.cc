#include "text/models/wordpiece.h"

#include <algorithm>
#include <utility>

#include "longformer/error.h"

namespace longformer::text {
namespace {

// A vocabulary whose continuations are longer than this, in bytes, takes the linear matcher: a walk
// of thousands of bytes for each piece of one byte is what a crafted file would ask for.
constexpr size_t kLongContinuation = 128;

using Entries = std::vector<std::pair<std::string_view, int32_t>>;

Entries continuations(const WordPieceSpec& spec) {
  Entries entries;
  for (const auto& [token, id] : spec.vocabulary) {
    const std::string_view view = token;
    if (view.starts_with(spec.continuing_prefix) && view.size() > spec.continuing_prefix.size()) {
      entries.emplace_back(view.substr(spec.continuing_prefix.size()), id);
    }
  }
  return entries;
}

}  // namespace

WordPiece::WordPiece(const WordPieceSpec& spec, const std::string& place)
    : trie_(make_trie(spec.vocabulary)),
      continuation_(trie_.walk(Trie::kRoot, spec.continuing_prefix)),
      unknown_id_(trie_.find(spec.unknown_token)),
      max_characters_(spec.max_characters) {
  if (unknown_id_ == Trie::kNoValue) {
    throw Error(ErrorCode::kInvalidFile,
                "the unknown token that the model names is not in its vocabulary; add it", place);
  }
  for (const auto& [text, id] : continuations(spec)) {
    longest_continuation_ = std::max(longest_continuation_, text.size());
  }
  if (longest_continuation_ > kLongContinuation) {
    continuations_ = LongestMatch(continuations(spec));
  }
}

bool WordPiece::is_too_long(std::string_view word) const {
  if (word.size() <= max_characters_) return false;
  const auto starts = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  return static_cast<uint64_t>(std::count_if(word.begin(), word.end(), starts)) > max_characters_;
}

void WordPiece::encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const {
  out.clear();
  const Piece unknown = {unknown_id_, 0, static_cast<uint32_t>(word.size())};
  if (is_too_long(word)) {
    out.assign(1, unknown);
    return;
  }
  const bool listed = longest_continuation_ > kLongContinuation && word.size() > kLongContinuation;
  if (listed) continuations_.find(word, scratch);
  for (size_t at = 0; at < word.size();) {
    Trie::Match match;
    if (at == 0) {
      match = trie_.longest(Trie::kRoot, word);
    } else if (listed) {
      match = continuations_.match(scratch[at]);
    } else if (continuation_ != Trie::kNowhere) {
      match = trie_.longest(continuation_, word.substr(at));
    }
    if (match.value == Trie::kNoValue) {
      out.assign(1, unknown);
      return;
    }
    const auto begin = static_cast<uint32_t>(at);
    at += match.length;
    out.push_back({match.value, begin, static_cast<uint32_t>(at)});
  }
}

}  // namespace longformer::text
