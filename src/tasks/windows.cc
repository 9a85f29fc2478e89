#include "tasks/windows.h"

#include <algorithm>
#include <string>

#include "longformer/error.h"

namespace longformer::tasks {

std::vector<Window> plan_windows(int64_t tokens, int64_t capacity, int64_t overlap) {
  if (overlap < 0 || capacity < 1 || 2 * overlap >= capacity) {
    throw Error(ErrorCode::kInvalidArgument, "windows of " + std::to_string(capacity) +
                                                 " tokens cannot share " + std::to_string(overlap) +
                                                 "; allowed: 0 to less than half of the window");
  }
  if (tokens <= 0) return {};
  if (tokens <= capacity) return {{0, tokens, 0, tokens}};
  const int64_t step = capacity - overlap;
  const int64_t count = (tokens - overlap + step - 1) / step;
  // The smallest size with which `count` windows still share `overlap`.
  const int64_t size = (tokens + (count - 1) * overlap + count - 1) / count;
  std::vector<Window> windows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Window& window = windows[static_cast<size_t>(i)];
    window.begin = i * (tokens - size) / (count - 1);
    window.end = window.begin + size;
  }
  for (size_t i = 0; i + 1 < windows.size(); ++i) {
    const int64_t seam = (windows[i + 1].begin + windows[i].end) / 2;
    windows[i].keep_end = seam;
    windows[i + 1].keep_begin = seam;
  }
  windows.back().keep_end = tokens;
  return windows;
}

int64_t window_overlap(int64_t capacity, int64_t reach) {
  return std::min(std::max(capacity / kOverlapShare, reach), capacity / kLargestOverlapShare);
}

}  // namespace longformer::tasks
