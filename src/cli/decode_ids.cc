#include "cli/decode_ids.h"

#include <charconv>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/json.h"

namespace longformer::cli {
namespace {

constexpr std::string_view kBetween = " \t,\r";

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kInvalidFile,
              "a line of ids must be whole numbers between spaces or commas, a JSON list of them, "
              "or a JSON object with input_ids");
}

std::vector<int64_t> ids_of_json(const text::Json& json) {
  std::vector<int64_t> ids;
  if (!json.is_array()) refuse();
  ids.reserve(json.size());
  for (const text::Json& value : json) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) refuse();
    ids.push_back(value.get<int64_t>());
  }
  return ids;
}

}  // namespace

std::vector<int64_t> parse_id_line(std::string_view line) {
  const size_t start = line.find_first_not_of(kBetween);
  if (start != line.npos && (line[start] == '[' || line[start] == '{')) {
    const text::Json json = text::parse_json(line, kMaxDocumentBytes, "");
    if (!json.is_object()) return ids_of_json(json);
    const auto ids = json.find("input_ids");
    if (ids == json.end()) refuse();
    return ids_of_json(*ids);
  }
  std::vector<int64_t> ids;
  for (size_t at = start; at != line.npos; at = line.find_first_not_of(kBetween, at)) {
    const size_t end = std::min(line.find_first_of(kBetween, at), line.size());
    int64_t id = 0;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || rest != line.data() + end || id < 0) refuse();
    ids.push_back(id);
    at = end;
  }
  return ids;
}

}  // namespace longformer::cli
