#include "io/datasets/trec.h"

#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace longformer::io {
namespace {

constexpr double kMaxGrade = 1 << 20;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return words;
}

// Why the line cannot be used; empty when it can.
std::string read_entry(std::string_view line, TrecKind kind, TrecEntry& entry) {
  if (const std::string fault = text_fault(line); !fault.empty()) return fault;
  const bool run = kind == TrecKind::kRun;
  const std::vector<std::string_view> words = words_of(line);
  const size_t columns = run ? 6 : 4;
  if (words.size() != columns) {
    return "has " + std::to_string(words.size()) + " columns; " + (run ? "a run" : "a judgement") +
           " has " + std::to_string(columns);
  }
  entry.query = words[0];
  entry.document = words[2];
  const std::string_view number = words[run ? 4 : 3];
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), entry.value);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(entry.value)) {
    return run ? "its score is no finite number" : "its grade is no whole number";
  }
  if (!run && (entry.value != std::floor(entry.value) || std::abs(entry.value) > kMaxGrade)) {
    return "its grade is no whole number up to 1048576";
  }
  return {};
}

}  // namespace

TrecFile parse_trec(std::string_view text, TrecKind kind, const std::string& place) {
  TrecFile file;
  std::set<std::pair<std::string, std::string>> pairs;
  int64_t line_number = 0, record = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    ++line_number;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    check_rows(static_cast<size_t>(record) + 1, place);
    TrecEntry entry;
    entry.line = line_number;
    std::string fault = read_entry(line, kind, entry);
    if (fault.empty() && !pairs.emplace(entry.query, entry.document).second) {
      fault = "its query and document stood in a line before";
    }
    if (fault.empty()) {
      file.entries.push_back(std::move(entry));
    } else {
      file.bad.push_back({line_number, record, fault});
    }
    ++record;
  }
  return file;
}

}  // namespace longformer::io
