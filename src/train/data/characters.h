// Code points of a text and the bytes where they begin.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace longformer::train {

// Of valid UTF-8 of less than 4 GiB; 4 bytes a code point.
class Characters {
 public:
  explicit Characters(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      if ((static_cast<uint8_t>(text[at]) & 0xC0) != 0x80) {
        begins_.push_back(static_cast<uint32_t>(at));
      }
    }
    begins_.push_back(static_cast<uint32_t>(text.size()));
  }
  size_t count() const { return begins_.size() - 1; }
  size_t byte(size_t character) const { return begins_[character]; }  // up to count()

 private:
  std::vector<uint32_t> begins_;
};

// A position as a row gives it, for messages.
inline std::string position_text(double position) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (position == std::floor(position) && std::abs(position) < kExact) {
    return std::to_string(static_cast<int64_t>(position));
  }
  return io::short_value(io::Json(position));
}

}  // namespace longformer::train
