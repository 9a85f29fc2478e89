#include "io/documents/text_lines.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "io/documents/byte_source.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

struct TextLines::Impl {
  std::string name;
  size_t max_line_bytes;
  FileDescriptor file;
  uint64_t size = 0;      // of the file, as stored
  uint64_t consumed = 0;  // of that
  std::optional<ExpandedSource> source;
  std::string block;
  size_t begin = 0;  // of what is left in the block
  int64_t number = 0;
  int64_t position = 0;  // in the expanded file, of `begin`
  bool finished = false;

  size_t read_stored(char* out, size_t wanted) {
    const size_t got = read_some(file.get() < 0 ? STDIN_FILENO : file.get(), out, wanted, name);
    consumed += got;
    return got;
  }

  // False at the end of the file.
  bool refill() {
    if (finished) return false;
    block.resize(kBlock);
    begin = 0;
    size_t got = 0;
    try {
      got = source->read(block.data(), kBlock);
    } catch (const Error& error) {
      if (!error.place().empty()) throw;
      throw Error(error.code(), error.what(), name);
    }
    finished = got < kBlock;
    block.resize(got);
    return got > 0;
  }
};

TextLines::TextLines(const std::string& name, size_t max_line_bytes)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.name = name == "-" ? "standard input" : name;
  impl.max_line_bytes = max_line_bytes;
  if (name != "-") {
    impl.file = open_for_reading(name);
    struct stat status;
    if (fstat(impl.file.get(), &status) == 0) impl.size = static_cast<uint64_t>(status.st_size);
  }
  try {
    impl.source.emplace([&impl](char* out, size_t size) { return impl.read_stored(out, size); });
  } catch (const Error& error) {
    if (!error.place().empty()) throw;
    throw Error(error.code(), error.what(), impl.name);
  }
}

TextLines::~TextLines() = default;

bool TextLines::next(TextLine& line) {
  Impl& impl = *impl_;
  line.text.clear();
  line.too_long = false;
  line.ended = false;
  bool any = false;
  while (!line.ended && (impl.begin < impl.block.size() || impl.refill())) {
    any = true;
    const char* const rest = impl.block.data() + impl.begin;
    const size_t left = impl.block.size() - impl.begin;
    const auto* const feed = static_cast<const char*>(std::memchr(rest, '\n', left));
    line.ended = feed != nullptr;
    const size_t taken = line.ended ? static_cast<size_t>(feed - rest) : left;
    if (!line.too_long) line.text.append(rest, taken);
    if (line.text.size() > impl.max_line_bytes) {
      line.too_long = true;
      line.text.clear();
    }
    const size_t used = taken + (line.ended ? 1 : 0);
    impl.begin += used;
    impl.position += static_cast<int64_t>(used);
  }
  if (!any) return false;
  line.number = ++impl.number;
  line.end = impl.position;
  if (line.ended && line.text.ends_with('\r')) line.text.pop_back();
  if (line.number == 1 && line.text.starts_with(kByteOrderMark)) {
    line.text.erase(0, kByteOrderMark.size());
  }
  return true;
}

double TextLines::share() const noexcept {
  if (impl_->size == 0) return 0;
  return std::min(1.0, static_cast<double>(impl_->consumed) / static_cast<double>(impl_->size));
}

}  // namespace longformer::io
