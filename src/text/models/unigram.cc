#include "text/models/unigram.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::text {
namespace {

constexpr double kUnknownPenalty = 10;

[[noreturn]] void fail(const std::string& message, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, message, place);
}

void check(const UnigramSpec& spec, const std::string& place) {
  if (spec.pieces.size() > static_cast<size_t>(kMaxVocabulary)) {
    fail("more than " + std::to_string(kMaxVocabulary) + " pieces", place);
  }
  for (size_t i = 0; i < spec.pieces.size(); ++i) {
    const auto& [piece, score] = spec.pieces[i];
    if (!std::isfinite(score)) {
      fail("the score of piece " + std::to_string(i) + " is not a finite number", place);
    }
    if (piece.size() > kMaxTokenBytes) {
      fail("piece " + std::to_string(i) + " is longer than " + std::to_string(kMaxTokenBytes) +
               " bytes",
           place);
    }
  }
  if (spec.unknown_id &&
      (*spec.unknown_id < 0 || *spec.unknown_id >= static_cast<int64_t>(spec.pieces.size()))) {
    fail("the id of the unknown token (unk_id) must be that of one of the " +
             std::to_string(spec.pieces.size()) + " pieces",
         place);
  }
}

// Backwards, so that the last of equal pieces is the one that counts.
Trie make_trie(const UnigramSpec& spec) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  entries.reserve(spec.pieces.size());
  for (size_t i = spec.pieces.size(); i-- > 0;) {
    entries.emplace_back(spec.pieces[i].first, static_cast<int32_t>(i));
  }
  return Trie(std::move(entries));
}

std::string byte_piece(uint32_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

size_t character_length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

int64_t step(size_t start, int32_t id) { return static_cast<int64_t>(start) << 32 | id; }
uint32_t start_of(int64_t step) { return static_cast<uint32_t>(step >> 32); }
int32_t id_of(int64_t step) { return static_cast<int32_t>(step & 0xFFFFFFFF); }

}  // namespace

Unigram::Unigram(UnigramSpec spec, const std::string& place) : place_(place) {
  check(spec, place);
  trie_ = make_trie(spec);
  double least = INFINITY;
  scores_.reserve(spec.pieces.size());
  for (const auto& [piece, score] : spec.pieces) {
    scores_.push_back(score);
    least = std::min(least, score);
  }
  unknown_score_ = least - kUnknownPenalty;
  if (spec.unknown_id) unknown_id_ = static_cast<int32_t>(*spec.unknown_id);
  if (spec.byte_fallback) {
    for (uint32_t byte = 0; byte < 256; ++byte) byte_ids_.push_back(trie_.find(byte_piece(byte)));
  }
}

std::optional<int32_t> Unigram::unknown_id() const { return unknown_id_; }

int32_t Unigram::id(std::string_view token) const { return trie_.find(token); }

size_t Unigram::size() const { return scores_.size(); }

void Unigram::find_best(std::string_view word, Scratch& scratch) const {
  std::vector<double>& best = scratch.best;
  std::vector<int64_t>& steps = scratch.steps;
  best.assign(word.size() + 1, 0);
  steps.assign(word.size() + 1, -1);
  const auto offer = [&](size_t start, size_t end, double score, int32_t id) {
    if (steps[end] >= 0 && !(score > best[end])) return false;
    best[end] = score;
    steps[end] = step(start, id);
    return true;
  };
  for (size_t start = 0; start < word.size();) {
    const double here = best[start];
    const size_t next = start + character_length(word[start]);
    bool has_character = false;
    uint32_t node = Trie::kRoot;
    for (size_t at = start; at < word.size();) {
      node = trie_.child(node, static_cast<uint8_t>(word[at]));
      if (node == Trie::kNowhere) break;
      ++at;
      const int32_t id = trie_.value(node);
      if (id == Trie::kNoValue) continue;
      offer(start, at, here + scores_[static_cast<size_t>(id)], id);
      has_character |= at == next;
    }
    if (!has_character && offer(start, next, here + unknown_score_, unknown_id_.value_or(0)) &&
        !unknown_id_) {
      fail(
          "a text has a character that no piece covers, and the model names no unknown token "
          "(unk_id); name one",
          place_);
    }
    start = next;
  }
}

void Unigram::append_unknown(std::string_view word, uint32_t begin, uint32_t end,
                             std::vector<Piece>& out) const {
  const std::string_view text = word.substr(begin, end - begin);
  if (const int32_t id = trie_.find(text); id != Trie::kNoValue) {
    out.push_back({id, begin, end});
    return;
  }
  const auto byte_id = [&](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (!byte_ids_.empty() &&
      std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; })) {
    // Backwards, as encode() collects pieces.
    for (size_t i = text.size(); i-- > 0;) out.push_back({byte_id(text[i]), begin, end});
    return;
  }
  out.push_back({*unknown_id_, begin, end});
}

void Unigram::encode(std::string_view word, std::vector<Piece>& out, Scratch& scratch) const {
  out.clear();
  if (word.empty()) return;
  if (word.size() > INT32_MAX) {
    throw Error(ErrorCode::kInvalidArgument,
                "a text of 2 GiB or more without a place to cut it cannot be tokenized; split it");
  }
  find_best(word, scratch);
  auto end = static_cast<uint32_t>(word.size());
  while (end > 0) {
    uint32_t begin = start_of(scratch.steps[end]);
    const int32_t id = id_of(scratch.steps[end]);
    if (id != unknown_id_) {
      out.push_back({id, begin, end});
    } else {
      while (begin > 0 && id_of(scratch.steps[begin]) == id) begin = start_of(scratch.steps[begin]);
      append_unknown(word, begin, end, out);
    }
    end = begin;
  }
  std::reverse(out.begin(), out.end());
}

}  // namespace longformer::text
