// Pairs of ids to the rank and result of their merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace longformer::text {

class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };

  MergeTable() = default;
  explicit MergeTable(size_t merges);

  // Of equal pairs the last one counts. No more calls than the constructor was told.
  void set(int32_t left, int32_t right, Merge merge);

  // Null for a pair that does not merge.
  const Merge* find(int32_t left, int32_t right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    for (size_t at = first_slot(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  // The multiplier is drawn when the table is made, so that no file can be crafted to make its
  // pairs collide.
  size_t first_slot(uint64_t key) const { return static_cast<size_t>(key * multiplier_ >> shift_); }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 63;
  uint64_t multiplier_ = 1;
};

}  // namespace longformer::text
