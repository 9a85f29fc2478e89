#include "io/documents/document_parts.h"

#include <algorithm>
#include <utility>

#include "io/documents/text_encoding.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kNone = std::string_view::npos;

size_t after_blank_line(std::string_view text, size_t first, size_t limit) {
  size_t end = text.rfind('\n', limit - 1);
  while (end != kNone && end > first) {
    const size_t before = text.rfind('\n', end - 1);
    if (before == kNone) return kNone;
    const std::string_view line = text.substr(before + 1, end - before - 1);
    if (line.find_first_not_of(" \t\r") == kNone) return end + 1;
    end = before;
  }
  return kNone;
}

// Behind the last of these characters.
size_t after_one_of(std::string_view characters, std::string_view text, size_t first,
                    size_t limit) {
  const size_t found = text.find_last_of(characters, limit - 1);
  return found == kNone || found < first ? kNone : found + 1;
}

}  // namespace

size_t part_end(std::string_view text, size_t limit) {
  const size_t first = limit / 2;
  size_t end = after_blank_line(text, first, limit);
  if (end == kNone) end = after_one_of("\n", text, first, limit);
  if (end == kNone) end = after_one_of(" \t\r", text, first, limit);
  if (end != kNone) return end;
  end = limit;
  while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

void read_text_parts(ExpandedSource& source, size_t part_bytes,
                     const std::function<void(TextPart)>& visit) {
  TextDecoder decoder;
  std::string text;  // decoded, not yet visited
  bool more = true;
  int64_t byte = 0, line = 0;
  for (bool last = false; !last;) {
    while (more && text.size() <= part_bytes) {
      std::string bytes;
      more = source.append(bytes, part_bytes);
      decoder.decode(bytes, !more, text);
    }
    last = text.size() <= part_bytes;
    TextPart part;
    if (last) {
      part.text = std::move(text);
    } else {
      part.text = text.substr(0, part_end(text, part_bytes));
      text.erase(0, part.text.size());
    }
    if (part.text.empty()) throw Error(ErrorCode::kInvalidFile, "empty");
    part.replaced = decoder.replaced();
    part.first_byte = byte;
    part.first_line = line;
    part.last = last;
    byte += static_cast<int64_t>(part.text.size());
    line += std::count(part.text.begin(), part.text.end(), '\n');
    visit(std::move(part));
  }
}

}  // namespace longformer::io
