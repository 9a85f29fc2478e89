#include "text/wordpiece.h"

#include "longformer/error.h"

namespace longformer::text {
namespace {

Trie make_trie(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary) entries.emplace_back(token, id);
  return Trie(std::move(entries));
}

}  // namespace

WordPiece::WordPiece(const Vocabulary& vocabulary, const WordPieceSettings& settings,
                     const std::string& place)
    : trie_(make_trie(vocabulary)),
      continuation_(trie_.walk(Trie::kRoot, settings.continuing_prefix)),
      unknown_id_(trie_.find(settings.unknown_token)),
      max_characters_(settings.max_characters) {
  if (unknown_id_ == Trie::kNoValue) {
    throw Error(ErrorCode::kInvalidFile,
                "the unknown token that the model names is not in its vocabulary; add it", place);
  }
}

void WordPiece::encode(std::string_view word, std::vector<Piece>& out) const {
  out.clear();
  uint32_t node = Trie::kRoot;
  for (size_t at = 0; at < word.size();) {
    Trie::Match match;
    if (node != Trie::kNowhere) match = trie_.longest(node, word.substr(at));
    if (match.value == Trie::kNoValue) {
      out.assign(1, {unknown_id_, 0, word.size()});
      return;
    }
    out.push_back({match.value, at, at + match.length});
    at += match.length;
    node = continuation_;
  }
}

}  // namespace longformer::text
