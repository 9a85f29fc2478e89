#include "attention/pattern.h"

#include <algorithm>
#include <string_view>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message, "attention pattern");
}

std::string indexed(std::string_view field, size_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

void validate_lengths(const AttentionPattern& pattern) {
  for (size_t s = 0; s < pattern.lengths.size(); ++s) {
    const int64_t length = pattern.lengths[s];
    if (length < 0 || length > kMaxSequence) {
      refuse(indexed("lengths", s) + " is " + std::to_string(length) + "; allowed are 0 to " +
             std::to_string(kMaxSequence) + " tokens");
    }
  }
}

void validate_window(const AttentionPattern& pattern) {
  if (!pattern.window) return;
  if (pattern.window->left < 0) {
    refuse("window.left is " + std::to_string(pattern.window->left) + "; allowed is 0 or more");
  }
  if (pattern.window->right < 0) {
    refuse("window.right is " + std::to_string(pattern.window->right) + "; allowed is 0 or more");
  }
}

void validate_dilation(const AttentionPattern& pattern) {
  const size_t count = pattern.dilation.size();
  if (count != 0 && count != static_cast<size_t>(pattern.heads)) {
    refuse("dilation has " + std::to_string(count) + " entries for " +
           std::to_string(pattern.heads) + " heads; give one for each head, or none");
  }
  for (size_t h = 0; h < count; ++h) {
    if (pattern.dilation[h] < 1 || pattern.dilation[h] > kMaxSequence) {
      refuse(indexed("dilation", h) + " is " + std::to_string(pattern.dilation[h]) +
             "; allowed are 1 (no dilation) to " + std::to_string(kMaxSequence));
    }
  }
}

void validate_list_size(const AttentionPattern& pattern, std::string_view field, size_t count) {
  if (count != 0 && count != pattern.lengths.size()) {
    refuse(std::string(field) + " has " + std::to_string(count) + " lists for " +
           std::to_string(pattern.lengths.size()) +
           " sequences; give one for each sequence, or none");
  }
}

void validate_global(const AttentionPattern& pattern) {
  validate_list_size(pattern, "global", pattern.global.size());
  for (size_t s = 0; s < pattern.global.size(); ++s) {
    int64_t previous = -1;
    for (size_t g = 0; g < pattern.global[s].size(); ++g) {
      const int64_t position = pattern.global[s][g];
      const std::string name = indexed(indexed("global", s), g);
      if (position < 0 || position >= pattern.lengths[s]) {
        refuse(name + " is " + std::to_string(position) + ", outside its sequence of " +
               std::to_string(pattern.lengths[s]) + " tokens");
      }
      if (position <= previous) {
        refuse(name + " is " + std::to_string(position) + " after " + std::to_string(previous) +
               "; positions must increase");
      }
      previous = position;
    }
  }
}

void validate_valid(const AttentionPattern& pattern) {
  validate_list_size(pattern, "valid", pattern.valid.size());
  for (size_t s = 0; s < pattern.valid.size(); ++s) {
    int64_t previous_end = 0;
    for (size_t r = 0; r < pattern.valid[s].size(); ++r) {
      const Interval& range = pattern.valid[s][r];
      const std::string name = indexed(indexed("valid", s), r) + " is [" +
                               std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
      if (range.begin < 0 || range.end < range.begin || range.end > pattern.lengths[s]) {
        refuse(name + ", not a range inside its sequence of " + std::to_string(pattern.lengths[s]) +
               " tokens");
      }
      if (range.begin < previous_end) {
        refuse(name + " after a range that ends at " + std::to_string(previous_end) +
               "; ranges must increase and not overlap");
      }
      previous_end = range.end;
    }
  }
}

void validate_other(const AttentionPattern& pattern) {
  if (pattern.memory.length < 0) {
    refuse("memory.length is " + std::to_string(pattern.memory.length) + "; allowed is 0 or more");
  }
  const double p = pattern.dropout.probability;
  if (!(p >= 0 && p < 1)) {
    refuse("dropout.probability is " + std::to_string(p) + "; allowed is 0 or more and below 1");
  }
}

std::string describe_dilation(const AttentionPattern& pattern) {
  if (pattern.dilation.empty()) return "dilation 1";
  std::string text = "dilation ";
  for (size_t first = 0; first < pattern.dilation.size();) {
    size_t end = first + 1;
    while (end < pattern.dilation.size() && pattern.dilation[end] == pattern.dilation[first]) ++end;
    if (first > 0) text += ", ";
    text += std::to_string(pattern.dilation[first]);
    text += end == first + 1 ? " (head " : " (heads ";
    text += std::to_string(first);
    if (end > first + 1) text += "-" + std::to_string(end - 1);
    text += ")";
    first = end;
  }
  return text;
}

std::string plural(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string describe_global(const AttentionPattern& pattern) {
  int64_t count = 0;
  for (const auto& positions : pattern.global) count += static_cast<int64_t>(positions.size());
  if (count == 0) return "no global tokens";
  return "global " + plural(count, "token") +
         (pattern.global_projections ? "" : " with shared projections");
}

std::string describe_sequences(const AttentionPattern& pattern) {
  std::string text = plural(static_cast<int64_t>(pattern.lengths.size()), "sequence");
  if (pattern.lengths.empty()) return text;
  const auto [shortest, longest] =
      std::minmax_element(pattern.lengths.begin(), pattern.lengths.end());
  text += " of " + std::to_string(*shortest);
  if (*shortest != *longest) text += " to " + std::to_string(*longest);
  return text;
}

std::string describe_masked(const AttentionPattern& pattern) {
  int64_t masked = 0;
  for (size_t s = 0; s < pattern.valid.size(); ++s) {
    masked += pattern.lengths[s];
    for (const Interval& range : pattern.valid[s]) masked -= range.end - range.begin;
  }
  if (masked == 0) return {};
  return ", " + plural(masked, "masked token") +
         (pattern.masked_query == MaskedQuery::kZero ? " giving zero" : " attending");
}

std::string_view bias_name(BiasKind kind) {
  switch (kind) {
    case BiasKind::kNone:
      return "none";
    case BiasKind::kTable:
      return "table";
    case BiasKind::kDecomposed:
      return "decomposed";
    case BiasKind::kRelativeSinusoid:
      return "relative sinusoid";
    case BiasKind::kSlopes:
      return "slopes";
  }
  return "unknown";
}

std::string describe_extras(const AttentionPattern& pattern) {
  std::string text;
  if (pattern.grid) {
    text += ", grid " + std::to_string(pattern.grid->height) + "x" +
            std::to_string(pattern.grid->width) + " in boxes of " +
            std::to_string(pattern.grid->box_height) + "x" +
            std::to_string(pattern.grid->box_width) + " shifted by " +
            std::to_string(pattern.grid->shift);
  }
  if (pattern.blocks) text += ", extra blocks of " + std::to_string(pattern.blocks->size);
  if (pattern.memory.length > 0) text += ", memory " + std::to_string(pattern.memory.length);
  if (pattern.memory.cross_source) text += ", keys of another sequence";
  if (pattern.bias != BiasKind::kNone) text += ", bias " + std::string(bias_name(pattern.bias));
  if (pattern.dropout.probability > 0) {
    text += ", dropout " + std::to_string(pattern.dropout.probability);
  }
  return text;
}

int64_t dilation_of(const AttentionPattern& pattern, int64_t head) {
  return pattern.dilation.empty() ? 1 : pattern.dilation[static_cast<size_t>(head)];
}

bool in_window(const AttentionPattern& pattern, int64_t head, int64_t i, int64_t j) {
  const int64_t dilation = dilation_of(pattern, head);
  if ((j - i) % dilation != 0) return false;
  const int64_t steps = (j - i) / dilation;
  return !pattern.window || (-steps <= pattern.window->left && steps <= pattern.window->right);
}

}  // namespace

void validate(const AttentionPattern& pattern) {
  if (pattern.heads < 1 || pattern.heads > kMaxHidden) {
    refuse("heads is " + std::to_string(pattern.heads) + "; allowed are 1 to " +
           std::to_string(kMaxHidden));
  }
  validate_lengths(pattern);
  validate_window(pattern);
  validate_dilation(pattern);
  validate_global(pattern);
  validate_valid(pattern);
  validate_other(pattern);
}

void refuse_unsupported(const AttentionPattern& pattern) {
  std::string field;
  if (pattern.grid) field = "grid";
  if (pattern.blocks) field = "blocks";
  if (pattern.memory.length > 0) field = "memory.length = " + std::to_string(pattern.memory.length);
  if (pattern.memory.cross_source) field = "memory.cross_source";
  if (pattern.bias != BiasKind::kNone) field = "bias = " + std::string(bias_name(pattern.bias));
  if (pattern.dropout.probability > 0) {
    field = "dropout.probability = " + std::to_string(pattern.dropout.probability);
  }
  if (field.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              field + " is not computed by this version; leave the field at its default",
              "attention pattern");
}

std::string to_string(const AttentionPattern& pattern) {
  std::string text = pattern.window ? "window " + std::to_string(pattern.window->left) + "+" +
                                          std::to_string(pattern.window->right)
                                    : "full attention";
  text += ", " + describe_dilation(pattern);
  text += ", " + describe_global(pattern);
  text += ", " + describe_sequences(pattern);
  text += describe_masked(pattern);
  return text + describe_extras(pattern);
}

bool is_valid(const AttentionPattern& pattern, int64_t sequence, int64_t position) {
  if (pattern.valid.empty()) return true;
  const std::vector<Interval>& ranges = pattern.valid[static_cast<size_t>(sequence)];
  return std::any_of(ranges.begin(), ranges.end(), [position](const Interval& range) {
    return range.begin <= position && position < range.end;
  });
}

bool is_global(const AttentionPattern& pattern, int64_t sequence, int64_t position) {
  if (pattern.global.empty() || !is_valid(pattern, sequence, position)) return false;
  const std::vector<int64_t>& positions = pattern.global[static_cast<size_t>(sequence)];
  return std::binary_search(positions.begin(), positions.end(), position);
}

int64_t count(const AttentionPattern& pattern, int64_t sequence, int64_t head, int64_t i,
              int64_t j) {
  if (!is_valid(pattern, sequence, j)) return 0;
  if (!is_valid(pattern, sequence, i) && pattern.masked_query == MaskedQuery::kZero) return 0;
  if (is_global(pattern, sequence, i) || is_global(pattern, sequence, j)) return 1;
  return in_window(pattern, head, i, j) ? 1 : 0;
}

}  // namespace longformer
