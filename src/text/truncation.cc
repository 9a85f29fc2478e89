#include "text/truncation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::text {
namespace {

// The tokens of either side in a window.
struct Room {
  int64_t first;
  int64_t second;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

// The shorter side keeps all where the longer one can make up for it; otherwise each gets half, the
// longer one (of equals the second) the odd token.
Room share_longest_first(int64_t first, int64_t second, int64_t budget) {
  const bool swapped = first > second;
  if (swapped) std::swap(first, second);
  second = first > budget ? first : std::max(first, budget - first);
  if (first + second > budget) {
    first = budget / 2;
    second = first + budget % 2;
  }
  return swapped ? Room{second, first} : Room{first, second};
}

// What one side keeps when it alone is cut.
int64_t cut_alone(int64_t tokens, int64_t excess, const char* which) {
  if (tokens <= excess) {
    refuse("the two texts are " + std::to_string(excess) + " tokens too long and the " + which +
           " one, which alone is to be cut, has only " + std::to_string(tokens) +
           "; allow more tokens or cut the longest first");
  }
  return tokens - excess;
}

Room share(int64_t first, std::optional<int64_t> second, int64_t budget, Truncation strategy) {
  const int64_t other = second.value_or(0);
  const int64_t excess = first + other - budget;
  if (excess <= 0) return {first, other};
  if (strategy == Truncation::kOnlySecond) {
    if (!second) refuse("only the second text is to be cut, and there is none");
    return {first, cut_alone(other, excess, "second")};
  }
  if (strategy == Truncation::kOnlyFirst) return {cut_alone(first, excess, "first"), other};
  if (!second) return {budget, 0};
  return share_longest_first(first, other, budget);
}

// How many windows a side makes. Throws where the stride forbids them.
int64_t count_windows(int64_t tokens, int64_t room, int64_t stride) {
  if (room >= tokens) return 1;
  if (room == 0) {
    refuse("one of the two texts would lose all its tokens; allow more tokens");
  }
  if (stride >= room) {
    refuse("the stride of " + std::to_string(stride) + " must be below the " +
           std::to_string(room) + (room == 1 ? " token" : " tokens") +
           " of a text that fit in a window; choose a smaller stride or allow more tokens");
  }
  const int64_t step = room - stride;
  return 1 + (tokens - room + step - 1) / step;
}

std::vector<TokenRange> windows(int64_t tokens, int64_t room, const TruncationSettings& settings) {
  if (room >= tokens) return {{0, tokens}};
  const int64_t count = count_windows(tokens, room, settings.stride);
  std::vector<TokenRange> ranges;
  ranges.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t moved = i * (room - settings.stride);
    if (settings.side == Side::kRight) {
      ranges.push_back({moved, std::min(moved + room, tokens)});
    } else {
      ranges.push_back({std::max<int64_t>(tokens - moved - room, 0), tokens - moved});
    }
  }
  return ranges;
}

int64_t checked_budget(int64_t specials, const TruncationSettings& settings) {
  if (settings.max_length <= specials) {
    refuse("a maximum length of " + std::to_string(settings.max_length) +
           " leaves no room for text: the model adds " + std::to_string(specials) +
           " special tokens; allow at least " + std::to_string(specials + 1));
  }
  const int64_t budget = settings.max_length - specials;
  if (settings.stride < 0 || settings.stride >= budget) {
    refuse("a stride of " + std::to_string(settings.stride) + " must lie in 0.." +
           std::to_string(budget - 1) + ": a window has room for " + std::to_string(budget) +
           (budget == 1 ? " token" : " tokens") + " of text");
  }
  return budget;
}

// Windows of a pair multiply, and a stride close to the window makes one a token.
void check_total(int64_t first_windows, int64_t second_windows, int64_t window) {
  if (first_windows > kMaxWindowTokens / second_windows ||
      first_windows * second_windows > kMaxWindowTokens / window) {
    refuse("cutting the text makes " + std::to_string(first_windows) +
           (second_windows > 1 ? " times " + std::to_string(second_windows) : std::string()) +
           " windows; at most " + std::to_string(kMaxWindowTokens) +
           " tokens in all are allowed: choose a smaller stride or split the text");
  }
}

}  // namespace

std::vector<TextWindow> plan_truncation(int64_t first_tokens, std::optional<int64_t> second_tokens,
                                        int64_t specials, const TruncationSettings& settings) {
  const int64_t budget = checked_budget(specials, settings);
  const int64_t other = second_tokens.value_or(0);
  const Room room = share(first_tokens, second_tokens, budget, settings.strategy);
  const int64_t first_count = count_windows(first_tokens, room.first, settings.stride);
  const int64_t second_count = count_windows(other, room.second, settings.stride);
  if (first_count > 1 || second_count > 1) {
    check_total(first_count, second_count, room.first + room.second + specials);
  }
  const std::vector<TokenRange> firsts = windows(first_tokens, room.first, settings);
  const std::vector<TokenRange> seconds = windows(other, room.second, settings);
  // The truncated pair; each further window of the first text with all of the second; then the
  // first window of the first text with what is left of the second.
  std::vector<TextWindow> plan;
  plan.reserve(firsts.size() * seconds.size());
  plan.push_back({firsts[0], seconds[0]});
  for (size_t i = 1; i < firsts.size(); ++i) {
    for (const TokenRange& second : seconds) plan.push_back({firsts[i], second});
  }
  for (size_t j = 1; j < seconds.size(); ++j) plan.push_back({firsts[0], seconds[j]});
  return plan;
}

}  // namespace longformer::text
