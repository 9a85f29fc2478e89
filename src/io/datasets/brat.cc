#include "io/datasets/brat.h"

#include <charconv>

namespace longformer::io {
namespace {

bool take_number(std::string_view text, double& number) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  number = static_cast<double>(value);
  return error == std::errc() && end == text.data() + text.size();
}

// Why the line cannot be used; empty when it can.
std::string read_span(std::string_view line, MarkedSpan& span) {
  if (std::string fault = text_fault(line); !fault.empty()) return fault;
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return "has no tab behind its id";
  std::string_view marked = line.substr(tab + 1);
  if (const size_t end = marked.find('\t'); end != std::string_view::npos) {
    span.text = marked.substr(end + 1);
    marked = marked.substr(0, end);
  }
  if (marked.find(';') != std::string_view::npos) {
    return "marks several places; an entity in one piece is needed";
  }
  const size_t first = marked.find(' ');
  const size_t second = first == std::string_view::npos ? first : marked.find(' ', first + 1);
  if (first == 0 || second == std::string_view::npos ||
      !take_number(marked.substr(first + 1, second - first - 1), span.begin) ||
      !take_number(marked.substr(second + 1), span.end)) {
    return "is not \"LABEL BEGIN END\" behind its id";
  }
  span.label = marked.substr(0, first);
  return {};
}

}  // namespace

BratFile parse_brat(std::string_view text, const std::string& place) {
  BratFile file;
  int64_t number = 0, record = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at);
    ++number;
    if (!line.starts_with('T')) continue;
    check_rows(static_cast<size_t>(record) + 1, place);
    MarkedSpan span{.line = number, .label = {}};
    if (std::string fault = read_span(line, span); fault.empty()) {
      file.spans.push_back(std::move(span));
    } else {
      file.bad.push_back({number, record, std::move(fault)});
    }
    ++record;
  }
  return file;
}

}  // namespace longformer::io
