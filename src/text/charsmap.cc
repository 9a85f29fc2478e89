#include "text/charsmap.h"

#include <algorithm>
#include <string>

#include "longformer/error.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

[[noreturn]] void fail(const std::string& rule, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, "the character map of the normaliser " + rule, place);
}

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& place) {
  if (bytes.size() < 4) fail("is shorter than its own header; it is cut off", place);
  const size_t count = read_u32(bytes, 0) / 4;
  if (count == 0) fail("has an empty trie", place);
  if (count > (bytes.size() - 4) / 4) fail("is shorter than its trie; it is cut off", place);
  units_.reserve(count);
  for (size_t i = 0; i < count; ++i) units_.push_back(read_u32(bytes, 4 + 4 * i));
  replacements_ = bytes.substr(4 + 4 * count);
  if (utf8::valid_prefix(replacements_) != replacements_.size()) {
    fail("holds replacements that are not UTF-8", place);
  }
  for (size_t at = 0; at < replacements_.size();) {
    const size_t end = std::min(replacements_.find('\0', at), replacements_.size());
    if (end - at > kMaxReplacementBytes) {
      fail("holds a replacement of more than " + std::to_string(kMaxReplacementBytes) + " bytes",
           place);
    }
    at = end + 1;
  }
  for (size_t c = 0; c < keeps_.size(); ++c) {
    const char text = static_cast<char>(c);
    keeps_[c] = !find({&text, 1});
  }
}

std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    const size_t begin = value(units_[node]);
    if (begin > replacements_.size()) break;
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    if (!rest.empty() && (static_cast<uint8_t>(rest[0]) & 0xC0) == 0x80) break;
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

}  // namespace longformer::text
