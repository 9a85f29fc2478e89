// Byte offsets to code points or UTF-16 units: one count every 64 bytes, so that offsets need no order.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/error.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace longformer::text {
namespace {

constexpr size_t kStride = 64;

// Start of the first character at or after a multiple of kStride, and the units before it.
struct Mark {
  size_t byte;
  int64_t units;
};

class UnitIndex {
 public:
  UnitIndex(std::string_view text, OffsetUnit unit) : text_(text), unit_(unit) {
    marks_.reserve(text.size() / kStride + 1);
    int64_t units = 0;
    size_t at = 0;
    while (true) {
      while (marks_.size() * kStride <= at) marks_.push_back({at, units});
      if (at == text.size()) break;
      units += advance(at);
    }
  }

  int64_t units_before(int64_t offset) const {
    if (offset < 0 || static_cast<uint64_t>(offset) > text_.size()) fail();
    const auto target = static_cast<size_t>(offset);
    Mark mark = marks_[target / kStride];
    if (mark.byte > target) fail();
    while (mark.byte < target) mark.units += advance(mark.byte);
    if (mark.byte != target) fail();
    return mark.units;
  }

 private:
  int64_t advance(size_t& at) const {
    const utf8::Step step = utf8::step(text_, at);
    at += step.length;
    return unit_ == OffsetUnit::kUtf16 && step.valid && step.length == 4 ? 2 : 1;
  }
  [[noreturn]] static void fail() {
    throw Error(ErrorCode::kInvalidArgument,
                "an offset to convert must lie in the text, on the border of a character");
  }

  std::string_view text_;
  OffsetUnit unit_;
  std::vector<Mark> marks_;
};

}  // namespace

void convert_offsets(std::string_view text, OffsetUnit unit, std::vector<Offset>& offsets) {
  if (unit == OffsetUnit::kByte || offsets.empty()) return;
  const UnitIndex index(text, unit);
  for (Offset& offset : offsets) {
    offset.begin = index.units_before(offset.begin);
    offset.end = index.units_before(offset.end);
  }
}

}  // namespace longformer::text
