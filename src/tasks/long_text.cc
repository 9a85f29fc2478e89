#include "tasks/long_text.h"

#include <algorithm>
#include <utility>

#include "longformer/error.h"
#include "tasks/windows.h"

namespace longformer::tasks {
namespace {

int64_t count_tokens(const text::Encoding& tokens, int8_t sequence) {
  return std::count(tokens.sequence.begin(), tokens.sequence.end(), sequence);
}

}  // namespace

CutText cut_text(const TextSpace& space, std::string first, std::optional<std::string> second,
                 LongText long_text, text::Truncation cut, std::optional<int64_t> stride) {
  CutText result;
  text::Encoding whole =
      second ? space.tokenizer.encode_pair(first, *second) : space.tokenizer.encode(first);
  const int64_t capacity = space.max_tokens;
  const auto total = static_cast<int64_t>(whole.size());
  const int64_t first_tokens = count_tokens(whole, 0);
  const int64_t second_tokens = count_tokens(whole, 1);
  const int64_t specials = total - first_tokens - second_tokens;
  result.tokens = first_tokens + second_tokens;
  if (total <= capacity) {
    result.windows.push_back(std::move(whole));
  } else if (long_text == LongText::kRefuse) {
    throw Error(ErrorCode::kInvalidArgument, std::to_string(total) +
                                                 " tokens, and the model reads at most " +
                                                 std::to_string(capacity) +
                                                 " at once; let it be truncated, or read in "
                                                 "windows");
  } else {
    text::TruncationSettings settings;
    settings.max_length = capacity;
    settings.strategy = cut;
    if (long_text == LongText::kWindows) {
      const int64_t room = capacity - specials - second_tokens;
      // Less than half a window for the text itself would make many that say little.
      if (room < (capacity - specials) / 2 || room < 1) {
        throw Error(ErrorCode::kInvalidArgument,
                    "the second text has " + std::to_string(second_tokens) +
                        " tokens and leaves less than half of the " + std::to_string(capacity) +
                        " that the model reads at once for windows over the first; shorten it");
      }
      settings.strategy = text::Truncation::kOnlyFirst;
      settings.stride = stride.value_or(window_overlap(room, 0));
      if (!stride) {
        // Windows of equal size, rather than a last one of a few tokens.
        const std::vector<Window> plan = plan_windows(first_tokens, room, settings.stride);
        settings.max_length = plan[0].size() + specials + second_tokens;
      }
    }
    std::optional<text::TextInput> other;
    if (second) other = text::TextInput(*second);
    result.windows = space.tokenizer.encode_windows(first, other, {}, settings);
    if (long_text == LongText::kTruncate) {
      result.windows.resize(1);
      result.truncated_tokens = total - static_cast<int64_t>(result.windows[0].size());
    }
  }
  result.first = std::move(first);
  result.second = std::move(second).value_or(std::string());
  return result;
}

text::Encoding wrap_tokens(const text::Tokenizer& tokenizer, const text::Encoding& tokens,
                           size_t begin, size_t end) {
  text::Encoding window;
  const auto add_special = [&](const std::vector<int64_t>& ids) {
    for (const int64_t id : ids) {
      window.ids.push_back(id);
      window.type_ids.push_back(0);
      window.offsets.push_back({});
      window.sequence.push_back(-1);
      window.words.push_back(-1);
    }
  };
  const auto copy = [&](const auto& from, auto& to) {
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
              from.begin() + static_cast<std::ptrdiff_t>(end));
  };
  add_special(tokenizer.special_prefix());
  copy(tokens.ids, window.ids);
  copy(tokens.type_ids, window.type_ids);
  copy(tokens.offsets, window.offsets);
  copy(tokens.sequence, window.sequence);
  copy(tokens.words, window.words);
  add_special(tokenizer.special_suffix());
  return window;
}

TaskSequence sequence_of(const CutText& text, size_t window) {
  TaskSequence sequence;
  sequence.tokens = text.windows[window];
  sequence.first = text.first;
  sequence.second = text.second;
  return sequence;
}

}  // namespace longformer::tasks
