// Merges of SentencePiece models of the BPE kind, in the order of Transformers' conversion.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/sentencepiece_files.h"
#include "text/models/trie.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

struct Merge {
  std::string_view left;
  std::string_view right;
  int32_t left_id;
  int32_t right_id;
  float score;
  size_t left_length;  // characters
  size_t right_length;
};

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

Trie make_trie(const std::vector<SentencePiece>& pieces) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    entries.emplace_back(pieces[i].text, static_cast<int32_t>(i));
  }
  return Trie(std::move(entries));
}

// The splits of one piece, sorted by the ids of their halves.
void append_splits(const SentencePiece& piece, const Trie& trie, std::vector<Merge>& out) {
  const std::string_view text = piece.text;
  const size_t characters = count_characters(text);
  const auto first = static_cast<ptrdiff_t>(out.size());
  uint32_t node = Trie::kRoot;
  size_t left_length = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    utf8::next(text, at);
    ++left_length;
    if (at == text.size()) break;
    node = trie.walk(node, text.substr(begin, at - begin));
    if (node == Trie::kNowhere) break;
    const int32_t left = trie.value(node);
    if (left == Trie::kNoValue) continue;
    const int32_t right = trie.find(text.substr(at));
    if (right == Trie::kNoValue) continue;
    out.push_back({text.substr(0, at), text.substr(at), left, right, piece.score, left_length,
                   characters - left_length});
  }
  std::stable_sort(out.begin() + first, out.end(), [](const Merge& a, const Merge& b) {
    return a.left_id != b.left_id ? a.left_id < b.left_id : a.right_id < b.right_id;
  });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sentencepiece_merges(
    const SentencePieceModel& model, const std::string& place) {
  const Trie trie = make_trie(model.pieces);
  std::vector<Merge> merges;
  for (const SentencePiece& piece : model.pieces) {
    append_splits(piece, trie, merges);
    if (merges.size() > size_t{kMaxMerges}) {
      throw Error(ErrorCode::kInvalidFile,
                  "the pieces of the model can be split in more than " +
                      std::to_string(kMaxMerges) + " ways",
                  place);
    }
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.left_length != b.left_length) return a.left_length > b.left_length;
    return a.right_length > b.right_length;
  });
  std::vector<std::pair<std::string, std::string>> result;
  result.reserve(merges.size());
  for (const Merge& merge : merges) result.emplace_back(merge.left, merge.right);
  return result;
}

}  // namespace longformer::text
