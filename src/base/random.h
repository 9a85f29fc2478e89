// Random numbers as a function of (seed, index): any of them without the others before it, the same
// for any number of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace longformer {

// 64 well-mixed bits: SplitMix64 (Steele, Lea, Flood 2014) of a counter that starts at the seed's.
inline uint64_t random_bits(uint64_t seed, uint64_t index) noexcept {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  return mix(mix(seed + kStep) + (index + 1) * kStep);
}

// In [0, 1), a multiple of 2^-53.
inline double random_uniform(uint64_t seed, uint64_t index) noexcept {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1p-53;
}

// N(0, 1), by Box and Muller.
inline double random_normal(uint64_t seed, uint64_t index) noexcept {
  const double radius = std::sqrt(-2.0 * std::log1p(-random_uniform(seed, 2 * index)));
  return radius * std::cos(2.0 * std::numbers::pi * random_uniform(seed, 2 * index + 1));
}

}  // namespace longformer
