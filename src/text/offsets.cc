// Byte offsets to code points or UTF-16 units. The units before every 64th byte are counted once,
// so that offsets need no order and each costs at most one block.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/error.h"
#include "text/tokenizer.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kBlock = 64;

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Units of valid UTF-8; a character counts where it starts.
int64_t count_units(std::string_view text, OffsetUnit unit) {
  int64_t units = 0;
  for (const char c : text) units += !continues(c);
  if (unit == OffsetUnit::kUtf16) {
    for (const char c : text) units += static_cast<uint8_t>(c) >= 0xF0;
  }
  return units;
}

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kInvalidArgument,
              "an offset to convert must lie in the text, on the border of a character");
}

class UnitIndex {
 public:
  UnitIndex(std::string_view text, OffsetUnit unit) : text_(text), unit_(unit) {
    before_.reserve(text.size() / kBlock + 1);
    int64_t units = 0;
    for (size_t at = 0; at <= text.size(); at += kBlock) {
      before_.push_back(units);
      units += count_units(text.substr(at, kBlock), unit);
    }
  }

  int64_t units_before(size_t offset) const {
    if (offset < text_.size() && continues(text_[offset])) refuse();
    const size_t block = offset / kBlock;
    return before_[block] + count_units(text_.substr(block * kBlock, offset % kBlock), unit_);
  }

 private:
  std::string_view text_;
  OffsetUnit unit_;
  std::vector<int64_t> before_;
};

// Text that is not UTF-8: one unit for each maximal bad subsequence. Rare, so all positions are
// simply listed.
class BadTextIndex {
 public:
  BadTextIndex(std::string_view text, OffsetUnit unit) : units_(text.size() + 1, -1) {
    int64_t units = 0;
    for (size_t at = 0; at < text.size();) {
      units_[at] = units;
      const utf8::Step step = utf8::step(text, at);
      units += unit == OffsetUnit::kUtf16 && step.length == 4 ? 2 : 1;
      at += step.length;
    }
    units_[text.size()] = units;
  }

  int64_t units_before(size_t offset) const {
    if (units_[offset] < 0) refuse();
    return units_[offset];
  }

 private:
  std::vector<int64_t> units_;
};

template <class Index>
void convert(std::string_view text, OffsetUnit unit, std::vector<Offset>& offsets) {
  const Index index(text, unit);
  const auto convert_one = [&](int64_t& offset) {
    if (offset < 0 || static_cast<uint64_t>(offset) > text.size()) refuse();
    offset = index.units_before(static_cast<size_t>(offset));
  };
  for (Offset& offset : offsets) {
    convert_one(offset.begin);
    convert_one(offset.end);
  }
}

}  // namespace

void convert_offsets(std::string_view text, OffsetUnit unit, std::vector<Offset>& offsets) {
  if (unit == OffsetUnit::kByte || offsets.empty()) return;
  if (utf8::valid_prefix(text) == text.size()) {
    convert<UnitIndex>(text, unit, offsets);
  } else {
    convert<BadTextIndex>(text, unit, offsets);
  }
}

}  // namespace longformer::text
