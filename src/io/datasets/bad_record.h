// What the readers of this folder share: records that are left out, and how text is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace longformer::io {

struct BadRecord {
  int64_t line = 0;    // from 1, the first of the record
  int64_t record = 0;  // from 0, counted together with the good ones
  std::string reason;  // "has 2 fields, the header 3"
};

// The whole file, at most kMaxDocumentBytes, without a byte order mark.
std::string read_dataset(const std::filesystem::path& path);

// Empty for valid UTF-8 without a NUL byte, else what is wrong.
std::string text_fault(std::string_view text);

// The line that starts at `at`, without its line feed and a carriage return in front; moves `at`
// behind it.
std::string_view next_line(std::string_view text, size_t& at);

// Throws kInvalidFile when there are more than kMaxJsonValues.
void check_rows(size_t rows, const std::string& place);

}  // namespace longformer::io
