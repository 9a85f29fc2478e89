#include "text/models/bpe.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/models/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kMaxSymbols = INT32_MAX;  // of a word
constexpr size_t kMaxAffixBytes = 32;      // "##", "</w>"

// Up to this many symbols a scan over all pairs for each merge beats a queue.
constexpr size_t kScanSymbols = 40;
constexpr uint32_t kNoRank = UINT32_MAX;

bool later(const Bpe::Candidate& a, const Bpe::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

std::array<int32_t, 256> fallback_ids(const Trie& trie) {
  std::array<int32_t, 256> ids{};
  for (size_t byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    ids[byte] = trie.find(name);
  }
  return ids;
}

std::array<int32_t, 256> alphabet_ids(const Trie& trie) {
  std::array<int32_t, 256> ids{};
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string name;
    utf8::append(byte_alphabet::character(static_cast<uint8_t>(byte)), name);
    ids[byte] = trie.find(name);
  }
  return ids;
}

bool all_known(const std::array<int32_t, 256>& ids) {
  return std::find(ids.begin(), ids.end(), Trie::kNoValue) == ids.end();
}

void append(int32_t id, uint32_t length, std::vector<Bpe::Symbol>& symbols) {
  symbols.push_back({id, length, static_cast<int32_t>(symbols.size()) - 1, -1});
  if (symbols.size() > 1) {
    symbols[symbols.size() - 2].next = static_cast<int32_t>(symbols.size()) - 1;
  }
}

// What is left after merging; symbols that were merged into another have no length.
void append_pieces(const std::vector<Bpe::Symbol>& symbols, std::vector<Piece>& out) {
  uint32_t at = 0;
  for (const Bpe::Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    out.push_back({symbol.id, at, at + symbol.length});
    at += symbol.length;
  }
}

void check_symbols(size_t symbols) {
  if (symbols <= kMaxSymbols) return;
  throw Error(ErrorCode::kInvalidArgument,
              "a stretch of text without a border between words is too long to be tokenized at "
              "once; split the text");
}

[[noreturn]] void refuse_merge(size_t rank, const std::string& rule, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, "merge " + std::to_string(rank + 1) + " " + rule, place);
}

}  // namespace

Bpe::Bpe(const BpeSpec& spec, std::string place)
    : place_(std::move(place)),
      trie_(make_trie(spec.vocabulary)),
      merges_(spec.merges.size()),
      unknown_token_(spec.unknown_token),
      continuing_prefix_(spec.continuing_prefix),
      word_suffix_(spec.word_suffix),
      fuse_unknown_(spec.fuse_unknown),
      ignore_merges_(spec.ignore_merges),
      byte_fallback_(spec.byte_fallback),
      alphabet_ids_(alphabet_ids(trie_)),
      fallback_ids_(fallback_ids(trie_)) {
  if (std::max(continuing_prefix_.size(), word_suffix_.size()) > kMaxAffixBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "continuing_subword_prefix and end_of_word_suffix must have at most " +
                    std::to_string(kMaxAffixBytes) + " bytes",
                place_);
  }
  if (byte_fallback_ && !(continuing_prefix_.empty() && word_suffix_.empty())) {
    throw Error(ErrorCode::kUnsupported,
                "byte_fallback together with continuing_subword_prefix or end_of_word_suffix",
                place_);
  }
  if (unknown_token_) unknown_id_ = trie_.find(*unknown_token_);
  spells_bytes_ = continuing_prefix_.empty() && word_suffix_.empty() && all_known(alphabet_ids_);
  const size_t prefix = continuing_prefix_.size();
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    if (right.size() < prefix) {
      refuse_merge(rank, "has a right side that is shorter than continuing_subword_prefix", place_);
    }
    // Such a merge gives a token that is no longer than its left side, which the scan does not
    // expect.
    if (right.size() == prefix) scannable_ = false;
    const int32_t left_id = trie_.find(left);
    const int32_t right_id = trie_.find(right);
    const uint32_t node = trie_.walk(Trie::kRoot, left);
    const uint32_t end =
        node == Trie::kNowhere ? node : trie_.walk(node, std::string_view(right).substr(prefix));
    const int32_t id = end == Trie::kNowhere ? Trie::kNoValue : trie_.value(end);
    if (left_id < 0 || right_id < 0 || id < 0) {
      refuse_merge(rank, "names or makes a token that the vocabulary lacks", place_);
    }
    merges_.set(left_id, right_id, {static_cast<uint32_t>(rank), id});
  }
}

std::optional<int32_t> Bpe::unknown_id() const {
  if (unknown_id_ == Trie::kNoValue || (byte_fallback_ && all_known(fallback_ids_))) {
    return std::nullopt;
  }
  return unknown_id_;
}

void Bpe::encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const {
  out.clear();
  if (word.empty()) return;
  if (ignore_merges_) {
    if (const int32_t id = trie_.find(word); id >= 0) {
      out.push_back({id, 0, static_cast<uint32_t>(word.size())});
      return;
    }
  }
  if (scratch.cache.find(word, out)) return;
  scratch.symbols.clear();
  const bool plain = split(word, scratch.symbols);
  merge(scratch, plain);
  append_pieces(scratch.symbols, out);
  scratch.cache.keep(word, out);
}

void Bpe::encode_bytes(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const {
  out.clear();
  if (ignore_merges_) {
    if (const int32_t id = byte_word_id(word); id >= 0) {
      out.push_back({id, 0, static_cast<uint32_t>(word.size())});
      return;
    }
  }
  if (scratch.cache.find(word, out)) return;
  scratch.symbols.clear();
  check_symbols(word.size());
  for (const char c : word) append(alphabet_ids_[static_cast<uint8_t>(c)], 1, scratch.symbols);
  merge(scratch, true);
  append_pieces(scratch.symbols, out);
  scratch.cache.keep(word, out);
}

// The token that is the whole word, spelled in the alphabet.
int32_t Bpe::byte_word_id(std::string_view word) const {
  uint32_t node = Trie::kRoot;
  for (const char c : word) {
    const char32_t code = byte_alphabet::character(static_cast<uint8_t>(c));
    if (code >= 0x80) {
      node = trie_.child(node, static_cast<uint8_t>(0xC0 | code >> 6));
      if (node == Trie::kNowhere) return Trie::kNoValue;
    }
    node = trie_.child(node, static_cast<uint8_t>(code < 0x80 ? code : 0x80 | (code & 0x3F)));
    if (node == Trie::kNowhere) return Trie::kNoValue;
  }
  return trie_.value(node);
}

int32_t Bpe::character_id(std::string_view character, bool first, bool last) const {
  uint32_t node = Trie::kRoot;
  if (!first) node = trie_.walk(node, continuing_prefix_);
  if (node != Trie::kNowhere) node = trie_.walk(node, character);
  if (last && node != Trie::kNowhere) node = trie_.walk(node, word_suffix_);
  return node == Trie::kNowhere ? Trie::kNoValue : trie_.value(node);
}

bool Bpe::append_fallback(std::string_view character, std::vector<Symbol>& symbols) const {
  for (const char c : character) {
    if (fallback_ids_[static_cast<uint8_t>(c)] < 0) return false;
  }
  for (const char c : character) append(fallback_ids_[static_cast<uint8_t>(c)], 1, symbols);
  return true;
}

void Bpe::append_unknown(uint32_t length, std::optional<uint32_t>& pending,
                         std::vector<Symbol>& symbols) const {
  if (unknown_id_ < 0) {
    throw Error(ErrorCode::kInvalidFile,
                "the text needs the unknown token that the model names, which its vocabulary "
                "lacks; add it",
                place_);
  }
  if (!pending) {
    pending = length;
  } else if (fuse_unknown_) {
    *pending += length;
  } else {
    append(unknown_id_, *pending, symbols);
    pending = length;
  }
}

// The symbols of a word, and whether all are characters of it. In the reference's order: an unknown
// character waits for the next one that is known, which the bytes of a fallback are not.
bool Bpe::split(std::string_view word, std::vector<Symbol>& symbols) const {
  check_symbols(word.size());
  bool plain = true;
  std::optional<uint32_t> pending;  // bytes of an unknown token
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    utf8::next(word, at);
    const std::string_view character = word.substr(begin, at - begin);
    const bool first = begin == 0;
    const bool last = at == word.size();
    const int32_t id = character_id(character, first, last);
    if (id >= 0) {
      if (pending) append(unknown_id_, *pending, symbols);
      pending.reset();
      append(id, static_cast<uint32_t>(character.size()), symbols);
      continue;
    }
    plain = false;
    if (byte_fallback_ && append_fallback(character, symbols)) continue;
    if (unknown_token_) append_unknown(static_cast<uint32_t>(character.size()), pending, symbols);
  }
  if (pending) append(unknown_id_, *pending, symbols);
  return plain;
}

void Bpe::merge(Scratch& scratch, bool plain) const {
  if (scratch.symbols.size() < 2) return;
  if (plain && scannable_ && scratch.symbols.size() <= kScanSymbols) {
    merge_by_scanning(scratch);
  } else {
    merge_by_queue(scratch);
  }
}

// Short words. `ranks` holds the rank of each symbol with the next one.
void Bpe::merge_by_scanning(Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<uint32_t>& ranks = scratch.ranks;
  const auto rank = [&](size_t left) {
    if (left + 1 >= symbols.size()) return kNoRank;
    const MergeTable::Merge* found = merges_.find(symbols[left].id, symbols[left + 1].id);
    return found == nullptr ? kNoRank : found->rank;
  };
  ranks.resize(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) ranks[i] = rank(i);
  while (symbols.size() > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.end());
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at].id = merges_.find(symbols[at].id, symbols[at + 1].id)->id;
    symbols[at].length += symbols[at + 1].length;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    ranks.erase(ranks.begin() + static_cast<ptrdiff_t>(at) + 1);
    ranks[at] = rank(at);
    if (at > 0) ranks[at - 1] = rank(at - 1);
  }
}

void Bpe::push(const std::vector<Symbol>& symbols, int32_t left,
               std::vector<Candidate>& queue) const {
  const Symbol& symbol = symbols[static_cast<size_t>(left)];
  if (symbol.next < 0) return;
  const int32_t right = symbols[static_cast<size_t>(symbol.next)].id;
  const MergeTable::Merge* merge = merges_.find(symbol.id, right);
  if (merge != nullptr) queue.push_back({merge->rank, static_cast<uint32_t>(left), merge->id});
}

// Any word. A candidate is stale where its pair no longer merges to the same token, which is the
// reference's test.
void Bpe::merge_by_queue(Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<Candidate>& queue = scratch.queue;
  queue.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) push(symbols, static_cast<int32_t>(i), queue);
  std::make_heap(queue.begin(), queue.end(), later);
  const auto add = [&](int32_t left) {
    const size_t before = queue.size();
    push(symbols, left, queue);
    if (queue.size() > before) std::push_heap(queue.begin(), queue.end(), later);
  };
  while (!queue.empty()) {
    const Candidate top = queue.front();
    std::pop_heap(queue.begin(), queue.end(), later);
    queue.pop_back();
    Symbol& left = symbols[top.position];
    if (left.length == 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    const MergeTable::Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;
    left.id = top.id;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next >= 0) {
      symbols[static_cast<size_t>(left.next)].previous = static_cast<int32_t>(top.position);
    }
    if (left.previous >= 0) add(left.previous);
    add(static_cast<int32_t>(top.position));
  }
}

}  // namespace longformer::text
