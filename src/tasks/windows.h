// How a document that is longer than the model is read: overlapping windows, each token taken from
// the window in whose middle it lies.
#pragma once

#include <cstdint>
#include <vector>

namespace longformer::tasks {

// Tokens [begin, end) are read together; the states of [keep_begin, keep_end) are taken from here.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t keep_begin = 0;
  int64_t keep_end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Window&) const = default;
};

// Windows over `tokens` tokens, at most `capacity` each, neighbours sharing at least `overlap`. As
// few windows as possible, of equal size (within one token), so that the tokens read twice are as
// few as possible. The kept ranges tile [0, tokens): a token of an overlap belongs to the window
// from whose edge it is further away. No tokens: no window. Throws kInvalidArgument unless 0 <= 2 *
// overlap < capacity.
std::vector<Window> plan_windows(int64_t tokens, int64_t capacity, int64_t overlap);

// The overlap for a model: an eighth of its capacity, or the longest reach of its attention where
// that is more, but at most a quarter, so that reading in windows costs at most a third more.
inline constexpr int64_t kOverlapShare = 8;
inline constexpr int64_t kLargestOverlapShare = 4;
int64_t window_overlap(int64_t capacity, int64_t reach);

}  // namespace longformer::tasks
