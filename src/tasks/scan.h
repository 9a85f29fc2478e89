// The little that splitting text needs to know about UTF-8. Broken bytes read as U+FFFD, one byte
// each, so that every position of any string can be scanned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longformer::tasks {

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

struct CodePoint {
  char32_t value = 0;
  int size = 1;  // bytes, at least 1
};

// The character that starts at `position` < text.size().
CodePoint decode_at(std::string_view text, size_t position) noexcept;

// Unicode White_Space.
bool is_space(char32_t c) noexcept;

// `range` without white space at its ends; {end, end} when there is nothing else.
ByteRange trim(std::string_view text, ByteRange range) noexcept;

// True when [begin, end) holds nothing but white space.
bool is_blank(std::string_view text, ByteRange range) noexcept;

}  // namespace longformer::tasks
