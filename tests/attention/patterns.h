// Random patterns and what tests of the attention layer share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "attention/pattern.h"

namespace longformer::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return between(1, 100) <= percent; }
  float uniform() {  // [-1, 1)
    return static_cast<float>(static_cast<double>(engine_() >> 11) * 0x1p-52 - 1.0);
  }
  std::vector<float> values(int64_t count, float scale = 1.0f) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& value : result) value = uniform() * scale;
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

// How many random cases a test runs: `fallback`, or LONGFORMER_TEST_CASES.
inline int64_t test_cases(int64_t fallback) {
  const char* text = std::getenv("LONGFORMER_TEST_CASES");
  return text == nullptr ? fallback : std::max<int64_t>(1, std::atoll(text));
}

inline std::vector<Interval> random_valid(Random& random, int64_t length) {
  std::vector<Interval> ranges;
  const int64_t kind = random.between(0, 5);
  if (length == 0 || kind == 0) return ranges;                  // fully masked
  if (kind == 1) return {{0, random.between(0, length)}};       // right padding
  if (kind == 2) return {{random.between(0, length), length}};  // left padding
  if (kind == 3) return {{0, length}};
  int64_t position = kind == 4 ? random.between(0, length / 2) : 0;  // holes
  const int64_t longest = random.chance(50) ? 3 : 100;
  while (position < length) {
    const int64_t end = std::min(length, position + random.between(1, longest));
    ranges.push_back({position, end});
    position = end + random.between(1, longest);
  }
  return ranges;
}

inline std::vector<int64_t> random_globals(Random& random, int64_t length) {
  std::vector<int64_t> positions;
  const int64_t wanted = random.chance(40) ? 0 : random.between(1, random.chance(50) ? 3 : 40);
  for (int64_t g = 0; g < wanted && length > 0; ++g) {
    positions.push_back(random.between(0, length - 1));
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

inline int64_t random_length(Random& random) {
  const int64_t kind = random.between(0, 9);
  if (kind == 0) return 0;
  if (kind == 1) return 1;
  return random.between(2, kind < 6 ? 40 : 300);
}

inline AttentionPattern random_pattern(Random& random) {
  AttentionPattern pattern;
  pattern.heads = random.between(1, 3);
  const int64_t sequences = random.between(1, 4);
  for (int64_t s = 0; s < sequences; ++s) pattern.lengths.push_back(random_length(random));
  if (!random.chance(15)) {
    const int64_t widest = random.chance(60) ? 20 : 400;
    pattern.window = Window{random.between(0, widest), random.between(0, widest)};
    if (random.chance(20)) pattern.window->right = 0;
    if (random.chance(10)) pattern.window->left = 0;
  }
  if (random.chance(50)) {
    for (int64_t h = 0; h < pattern.heads; ++h) {
      pattern.dilation.push_back(random.chance(40) ? 1 : random.between(1, 5));
    }
  }
  if (random.chance(60)) {
    for (const int64_t length : pattern.lengths) {
      pattern.global.push_back(random_globals(random, length));
    }
  }
  if (random.chance(60)) {
    for (const int64_t length : pattern.lengths) {
      pattern.valid.push_back(random_valid(random, length));
    }
  }
  pattern.global_projections = random.chance(70);
  pattern.masked_query = random.chance(50) ? MaskedQuery::kZero : MaskedQuery::kAttend;
  return pattern;
}

// `sequence` of a pattern as a batch of its own, with masked tokens around it.
inline AttentionPattern alone(const AttentionPattern& pattern, size_t sequence, int64_t left = 0,
                              int64_t right = 0) {
  AttentionPattern result = pattern;
  const int64_t length = pattern.lengths[sequence];
  result.lengths = {left + length + right};
  if (!pattern.global.empty()) {
    result.global = {pattern.global[sequence]};
    for (int64_t& position : result.global[0]) position += left;
  }
  if (!pattern.valid.empty()) {
    result.valid = {pattern.valid[sequence]};
  } else {
    result.valid = {{{0, length}}};
  }
  for (Interval& range : result.valid[0]) {
    range.begin += left;
    range.end += left;
  }
  return result;
}

inline std::string repro(uint64_t seed, const AttentionPattern& pattern) {
  return "seed " + std::to_string(seed) + ": " + to_string(pattern);
}

}  // namespace longformer::testing
