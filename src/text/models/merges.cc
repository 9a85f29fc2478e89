#include "text/models/merges.h"

#include <algorithm>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

[[noreturn]] void refuse(size_t number, const std::string& rule, const std::string& place) {
  throw Error(ErrorCode::kInvalidFile, "merge " + std::to_string(number) + " " + rule, place);
}

// `number` counts merges from 1.
void append_line(std::string_view line, const std::string& place, Merges& merges) {
  if (line.starts_with("#version")) return;
  const size_t number = merges.size() + 1;
  const size_t space = line.find(' ');
  if (space == line.npos || line.find(' ', space + 1) != line.npos) {
    refuse(number, "must be two tokens with one space between them", place);
  }
  if (line.size() > 2 * kMaxTokenBytes) {
    refuse(number, "is longer than " + std::to_string(2 * kMaxTokenBytes) + " bytes", place);
  }
  merges.emplace_back(line.substr(0, space), line.substr(space + 1));
}

}  // namespace

Merges read_json_merges(const Json& list, const std::string& place) {
  Merges merges;
  merges.reserve(list.size());
  const bool strings = !list.empty() && list[0].is_string();
  for (const Json& merge : list) {
    if (strings && merge.is_string()) {
      append_line(merge.get_ref<const std::string&>(), place, merges);
      continue;
    }
    if (strings || !merge.is_array() || merge.size() != 2 || !merge[0].is_string() ||
        !merge[1].is_string()) {
      refuse(merges.size() + 1, "must be a pair of tokens like the others", place);
    }
    const auto& left = merge[0].get_ref<const std::string&>();
    const auto& right = merge[1].get_ref<const std::string&>();
    if (std::max(left.size(), right.size()) > kMaxTokenBytes) {
      refuse(merges.size() + 1,
             "has a token longer than " + std::to_string(kMaxTokenBytes) + " bytes", place);
    }
    merges.emplace_back(left, right);
  }
  return merges;
}

Merges read_merges_txt(std::string_view text, const std::string& place) {
  if (text.size() > kMaxTokenizerBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "larger than the limit of " + std::to_string(kMaxTokenizerBytes) + " bytes", place);
  }
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size()) {
    throw Error(ErrorCode::kInvalidFile, "not UTF-8 at byte " + std::to_string(valid), place);
  }
  if (std::count(text.begin(), text.end(), '\n') > kMaxMerges) {
    throw Error(ErrorCode::kInvalidFile, "more than " + std::to_string(kMaxMerges) + " lines",
                place);
  }
  Merges merges;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    append_line(line, place, merges);
    at = end + 1;
  }
  return merges;
}

}  // namespace longformer::text
