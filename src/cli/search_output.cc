#include "cli/search_output.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/records.h"
#include "io/documents/documents.h"

namespace longformer::cli {
namespace {

constexpr size_t kShownBytes = 4000;  // of a passage, for a reader
const std::string kIndent = "    ";
const std::string kBold = "\x1b[1m";
const std::string kPlain = "\x1b[0m";

Json optional_number(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json record_of(int64_t rank, const tasks::SearchResult& result) {
  const Json anchor = result.anchor.empty() ? Json(nullptr) : Json(result.anchor);
  return {{"rank", rank},
          {"score", result.score},
          {"cosine", result.cosine},
          {"words", result.words},
          {"verbatim", result.verbatim},
          {"file", result.file},
          {"line_start", result.line_start},
          {"line_end", result.line_end},
          {"byte_start", result.byte_start},
          {"byte_end", result.byte_end},
          {"page_start", optional_number(result.page_start)},
          {"page_end", optional_number(result.page_end)},
          {"headings", result.headings},
          {"anchor", anchor},
          {"kind", result.kind},
          {"passage", result.passage},
          {"best_sentence", result.best_sentence}};
}

// The largest character border of `text` at or before `limit`.
size_t character_border(std::string_view text, size_t limit) {
  if (limit >= text.size()) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

// Blanks at the beginning of each line but the first that all of them share; the first line has
// none of its own.
size_t shared_indent(const std::string& text) {
  size_t shared = std::string::npos;
  for (size_t line = text.find('\n'); line != std::string::npos; line = text.find('\n', line + 1)) {
    const size_t first = text.find_first_not_of(' ', line + 1);
    if (first == std::string::npos || text[first] == '\n') continue;
    shared = std::min(shared, first - line - 1);
  }
  return shared == std::string::npos ? 0 : shared;
}

// The passage, line by line and indented, with its best sentence in bold where `bold`.
std::string human_passage(const tasks::SearchResult& result, bool bold) {
  const std::string_view passage = result.passage;
  const size_t best_begin = static_cast<size_t>(result.best_sentence_start);
  const size_t best_end = static_cast<size_t>(result.best_sentence_end);
  const size_t indent = shared_indent(result.passage);
  const auto part = [&](size_t begin, size_t end) {
    return begin < end ? printable(passage.substr(begin, end - begin), Lines::kJoin)
                       : std::string();
  };
  std::string shown;
  for (size_t begin = 0; begin < passage.size();) {
    size_t end = std::min(passage.find('\n', begin), passage.size());
    const size_t next = end + 1;
    if (begin > 0 && end - begin >= indent) begin += indent;
    const bool cut = shown.size() + (end - begin) > kShownBytes;
    if (cut)
      end = begin + character_border(passage.substr(begin),
                                     kShownBytes - std::min(shown.size(), kShownBytes));
    const std::string best = part(std::max(begin, best_begin), std::min(end, best_end));
    if (begin < end) shown += kIndent;
    shown += part(begin, std::min(end, best_begin));
    shown += bold && !best.empty() ? kBold + best + kPlain : best;
    shown += part(std::max(begin, best_end), end);
    if (cut) return shown + " [...]";
    if (next < passage.size()) shown += '\n';
    begin = next;
  }
  return shown;
}

// "3", "3-5"
std::string range(int64_t first, int64_t last) {
  return std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
}

std::string human_record(const tasks::SearchResult& result, const Json& record, bool bold) {
  char score[32];
  std::snprintf(score, sizeof score, "%.3f",
                std::round(result.score * 1000) / 1000 + 0.0);  // never -0.000
  return std::string(score) + "  " + human_place(record) + "\n" + human_passage(result, bold) +
         "\n";
}

}  // namespace

std::string human_place(const Json& record) {
  const std::string kind = record.at("kind");
  const bool lines = kind == io::document_kind_name(io::DocumentKind::kText) ||
                     kind == io::document_kind_name(io::DocumentKind::kMarkdown);
  std::string place = record.at("file");
  if (!record.at("page_start").is_null()) {
    place += " p. " + range(record.at("page_start"), record.at("page_end"));
  } else if (!record.at("anchor").is_null()) {
    place += "#" + record.at("anchor").get<std::string>();
  } else if (lines) {
    place += ":" + range(record.at("line_start"), record.at("line_end"));
  }
  std::string above;
  for (const Json& heading : record.at("headings")) {
    above += (above.empty() ? " \xE2\x80\x94 " : " > ") + heading.get<std::string>();
  }
  return printable(place + above, Lines::kJoin);
}

void print_results(const std::vector<tasks::SearchResult>& results, ResultFormat format) {
  Output output;
  const bool bold = takes_escapes(STDOUT_FILENO);
  const RecordTable& table = *find_records("search");
  if (format == ResultFormat::kCsv) output.line(csv_header(table, 0));
  int64_t rank = 0;
  for (const tasks::SearchResult& result : results) {
    const Json record = record_of(++rank, result);
    switch (format) {
      case ResultFormat::kHuman:
        output.line(human_record(result, record, bold));
        break;
      case ResultFormat::kJson:
        output.line(json_text(record));
        break;
      case ResultFormat::kCsv:
        output.line(csv_line(table, record, {}));
        break;
    }
  }
  output.flush();
}

}  // namespace longformer::cli
