#include "text/models/merge_table.h"

#include <algorithm>
#include <bit>
#include <random>

namespace longformer::text {

MergeTable::MergeTable(size_t merges) {
  if (merges == 0) return;
  const size_t size = std::bit_ceil(std::max<size_t>(merges * 2, 2));
  slots_.resize(size);
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  std::random_device random;
  multiplier_ = (uint64_t{random()} << 32 | random()) | 1;
}

void MergeTable::set(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t at = first_slot(key);
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
}

}  // namespace longformer::text
