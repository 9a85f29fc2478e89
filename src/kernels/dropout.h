// Dropout from a counter: whether an element is kept is a function of its row's key and its index,
// so the backward pass, another batch and another number of threads draw the same.
//   bits = mix(key, index), kept where bits >= probability · 2^32, and then divided by
//   1 - probability.
#pragma once

#include <cstdint>

namespace longformer::kernels {

struct DropoutRule {
  uint32_t threshold = 0;  // 0: everything is kept
  float scale = 1.0f;      // of what is kept
  bool drops() const noexcept { return threshold != 0; }
};
// 0 <= probability < 1; from 2^-33 down nothing is dropped.
DropoutRule dropout_rule(double probability) noexcept;

// 32 mixed bits of a well-mixed row key (base/random.h) and an index: the finalizer of MurmurHash3
// (Appleby) over a Weyl sequence.
inline uint32_t dropout_bits(uint64_t row_key, uint32_t index) noexcept {
  uint32_t x = static_cast<uint32_t>(row_key) + index * 0x9e3779b9u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= static_cast<uint32_t>(row_key >> 32);
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// x[r * stride + c] *= kept(row_keys[r], first_index + c * index_step) ? scale : 0, in place.
// Dropped elements become zero whatever they were.
void dropout_rows(int64_t rows, int64_t cols, const DropoutRule& rule, const uint64_t* row_keys,
                  uint32_t first_index, uint32_t index_step, float* x, int64_t stride) noexcept;
// The same with an index a column: indices [cols].
void dropout_rows(int64_t rows, int64_t cols, const DropoutRule& rule, const uint64_t* row_keys,
                  const uint32_t* indices, float* x, int64_t stride) noexcept;

}  // namespace longformer::kernels
