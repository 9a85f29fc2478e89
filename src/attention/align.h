// Rounding that the plan and the kernels share.
#pragma once

#include <cstdint>

namespace longformer {

inline constexpr int64_t kRowAlign = 8;      // rows of a product: few distinct shapes
inline constexpr int64_t kGatherAlign = 16;  // gathered columns fill whole vectors: tails are slow

inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace longformer
