#include "text/models/word_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace longformer::text {
namespace {

constexpr size_t kMaxWordBytes = 32;  // longer ones repeat rarely
constexpr size_t kMinSlots = 16;
constexpr size_t kMaxSlots = size_t{1} << 14;
constexpr size_t kMaxTextBytes = size_t{1} << 20;

}  // namespace

void WordCache::reset(size_t text_bytes) {
  const size_t slots = std::bit_ceil(std::clamp(text_bytes / 8, kMinSlots, kMaxSlots));
  slots_.assign(slots, {});
  texts_.clear();
  pieces_.clear();
}

size_t WordCache::slot_of(std::string_view word) const {
  uint64_t hash = word.size();
  for (size_t at = 0; at < word.size(); at += 8) {
    uint64_t part = 0;
    std::memcpy(&part, word.data() + at, std::min<size_t>(8, word.size() - at));
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash >> 20) & (slots_.size() - 1);
}

bool WordCache::find(std::string_view word, std::vector<Piece>& out) {
  if (word.size() > kMaxWordBytes || slots_.empty()) return false;
  last_ = slot_of(word);
  const Slot& slot = slots_[last_];
  if (slot.length != word.size() ||
      std::memcmp(texts_.data() + slot.text, word.data(), word.size()) != 0) {
    return false;
  }
  const auto first = pieces_.begin() + slot.pieces;
  out.insert(out.end(), first, first + slot.count);
  return true;
}

void WordCache::keep(std::string_view word, const std::vector<Piece>& pieces) {
  if (word.empty() || word.size() > kMaxWordBytes || slots_.empty()) return;
  if (pieces.size() > kMaxWordBytes) return;  // prefixes spelled in bytes: rare
  if (texts_.size() > kMaxTextBytes) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    texts_.clear();
    pieces_.clear();
  }
  slots_[last_] = {static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(pieces_.size()),
                   static_cast<uint16_t>(word.size()), static_cast<uint16_t>(pieces.size())};
  texts_.append(word);
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
}

}  // namespace longformer::text
