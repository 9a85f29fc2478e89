#include "io/datasets/bad_record.h"

#include <algorithm>

#include "base/limits.h"
#include "io/documents/text_encoding.h"
#include "io/files.h"
#include "longformer/error.h"

namespace longformer::io {

std::string read_dataset(const std::filesystem::path& path) {
  std::string text = read_file(path, kMaxDocumentBytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

std::string text_fault(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return "holds a NUL byte";
  if (valid_utf8_prefix(text) != text.size()) return "is not valid UTF-8";
  return {};
}

std::string_view next_line(std::string_view text, size_t& at) {
  const size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  at = std::min(end + 1, text.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void check_rows(size_t rows, const std::string& place) {
  if (rows <= kMaxJsonValues) return;
  throw Error(ErrorCode::kInvalidFile,
              "has more than " + std::to_string(kMaxJsonValues) + " records; split it", place);
}

}  // namespace longformer::io
