#include "text/models/word_level.h"

#include <utility>

#include "longformer/error.h"

namespace longformer::text {

WordLevel::WordLevel(const WordLevelSpec& spec, std::string place)
    : trie_(make_trie(spec.vocabulary)),
      unknown_id_(trie_.find(spec.unknown_token)),
      place_(std::move(place)) {}

std::optional<int32_t> WordLevel::unknown_id() const {
  if (unknown_id_ == Trie::kNoValue) return std::nullopt;
  return unknown_id_;
}

void WordLevel::encode(std::string_view word, std::vector<Piece>& out) const {
  int32_t id = trie_.find(word);
  if (id == Trie::kNoValue) id = unknown_id_;
  if (id == Trie::kNoValue) {
    throw Error(ErrorCode::kInvalidFile,
                "a word is not in the vocabulary, nor is the unknown token that stands for it; add "
                "the unknown token",
                place_);
  }
  out.assign(1, {id, 0, static_cast<uint32_t>(word.size())});
}

}  // namespace longformer::text
