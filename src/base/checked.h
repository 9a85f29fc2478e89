// Arithmetic on sizes that come from outside: overflow is an error, never a wrap.
#pragma once

#include <cstdint>
#include <string>

#include "longformer/error.h"

namespace longformer {

// Both throw Error(kInvalidFile) that names `what` when the result does not fit into 64 bits.
inline uint64_t checked_mul(uint64_t a, uint64_t b, const std::string& what) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw Error(ErrorCode::kInvalidFile, what + " does not fit into 64 bits");
  }
  return result;
}

inline uint64_t checked_add(uint64_t a, uint64_t b, const std::string& what) {
  uint64_t result;
  if (__builtin_add_overflow(a, b, &result)) {
    throw Error(ErrorCode::kInvalidFile, what + " does not fit into 64 bits");
  }
  return result;
}

}  // namespace longformer
