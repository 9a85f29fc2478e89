#include "io/datasets/rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr double kWholeNumbers = 9007199254740992.0;  // up to here doubles are exact integers

std::string number_text(double value) {
  char buffer[64];
  const bool whole = std::abs(value) <= kWholeNumbers && value == std::floor(value);
  const auto end = whole
                       ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(value))
                       : std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

// The numbers of a JSON text in their order: which are whole and beyond 64 bits. The parser makes
// doubles of them, in which different ones are equal.
class LargeNumbers {
 public:
  explicit LargeNumbers(std::string_view json) {
    bool any = false;
    for (size_t at = 0; at < json.size();) {
      if (json[at] == '"') {
        for (++at; at < json.size() && json[at] != '"'; ++at) at += json[at] == '\\' ? 1 : 0;
        ++at;
      } else if (json[at] == '-' || (json[at] >= '0' && json[at] <= '9')) {
        const size_t end = std::min(json.find_first_not_of("+-.0123456789eE", at), json.size());
        large_.push_back(is_large(json.substr(at, end - at)));
        any = any || large_.back();
        at = end;
      } else {
        ++at;
      }
    }
    if (!any) large_.clear();
  }
  // Whether the next number is one.
  bool next() { return next_ < large_.size() && large_[next_++]; }

 private:
  static bool is_large(std::string_view number) {
    const auto fits = [&](auto value) {
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), value);
      return error == std::errc();
    };
    return number.find_first_of(".eE") == std::string_view::npos && !fits(int64_t{0}) &&
           !fits(uint64_t{0});
  }

  std::vector<bool> large_;  // empty where none is
  size_t next_ = 0;
};

Cell cell_of(const Json& value, LargeNumbers& large) {
  Cell cell;
  if (value.is_null()) return cell;
  if (value.is_string()) {
    cell.kind = Cell::Kind::kText;
    cell.text = value.get<std::string>();
  } else if (value.is_boolean()) {
    cell.kind = Cell::Kind::kText;
    cell.text = value.get<bool>() ? "true" : "false";
  } else if (value.is_number()) {
    cell.kind = large.next() ? Cell::Kind::kLarge : Cell::Kind::kNumber;
    cell.number = value.get<double>();
    cell.text = value.is_number_float() ? number_text(cell.number) : value.dump();
  } else if (value.is_array()) {
    cell.kind = Cell::Kind::kList;
    for (const Json& item : value) cell.list.push_back(cell_of(item, large));
  } else {
    cell.kind = Cell::Kind::kObject;
    for (const auto& [name, item] : value.items())
      cell.fields.emplace_back(name, cell_of(item, large));
  }
  return cell;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// One record of CSV after the other.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  struct Record {
    int64_t line = 0;
    std::vector<std::string> fields;
    std::string fault;
  };

  size_t at() const { return at_; }

  std::optional<Record> next() {
    skip_blank_lines();
    if (at_ == text_.size()) return std::nullopt;
    Record record;
    record.line = line_;
    const size_t begin = at_;
    while (read_field(record)) {
    }
    if (record.fault.empty()) record.fault = text_fault(text_.substr(begin, at_ - begin));
    return record;
  }

 private:
  void skip_blank_lines() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n")) end_line();
  }

  // Whether another field of the record follows.
  bool read_field(Record& record) {
    if (at_ < text_.size() && text_[at_] == '"') {
      record.fields.push_back(quoted(record.fault));
      if (record.fault.empty() && !at_end_of_field()) {
        record.fault = "has text behind the closing quotation mark of a field";
      }
    } else {
      const size_t begin = at_;
      while (!at_end_of_field() && record.fault.empty()) {
        if (text_[at_] == '"') {
          record.fault = "has a quotation mark inside a field that does not begin with one";
        }
        ++at_;
      }
      record.fields.emplace_back(text_.substr(begin, at_ - begin));
    }
    if (record.fault.empty() && at_ < text_.size() && text_[at_] == separator_) {
      ++at_;
      return true;
    }
    end_line();
    return false;
  }

  bool at_end_of_field() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n' ||
           text_.substr(at_, 2) == "\r\n";
  }

  std::string quoted(std::string& fault) {
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (text_.substr(at_, 2) != "\"\"") {
          ++at_;
          return field;
        }
        ++at_;
      }
      if (text_[at_] == '\n') ++line_;
      field += text_[at_];
    }
    fault = "begins a quoted field that never ends; nothing behind it was read";
    return field;
  }

  void end_line() {
    next_line(text_, at_);
    ++line_;
  }

  std::string_view text_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

void check_header(const CsvReader::Record& header, const std::string& place) {
  if (!header.fault.empty()) {
    throw Error(ErrorCode::kInvalidFile, "the header " + header.fault, place + ": line 1");
  }
  std::set<std::string_view> names;
  for (const std::string& name : header.fields) {
    if (names.insert(name).second) continue;
    throw Error(ErrorCode::kInvalidFile,
                "the header names column " + short_value(Json(name)) + " twice", place);
  }
}

template <typename Cells>
const Cell* find_cell(const Cells& cells, std::string_view name) {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const auto& cell) { return cell.first == name; });
  return found == cells.end() ? nullptr : &found->second;
}

// The cells of a line, or why it has none.
std::string read_object(std::string_view line, Row& row) {
  if (std::string fault = text_fault(line); !fault.empty()) return fault;
  try {
    const Json value = parse_json(line, "line", DuplicateKeys::kRefused);
    if (!value.is_object()) return "is no JSON object";
    LargeNumbers large(line);
    for (const auto& [name, item] : value.items()) {
      row.cells.emplace_back(name, cell_of(item, large));
    }
    return {};
  } catch (const Error& error) {
    return std::string(error.what()).substr(error.place().size() + 2);
  }
}

char separator_of(RowFormat format) { return format == RowFormat::kTsv ? '\t' : ','; }

}  // namespace

const Cell* Row::find(std::string_view name) const { return find_cell(cells, name); }
const Cell* Cell::find(std::string_view name) const { return find_cell(fields, name); }

RowFormat row_format(const std::filesystem::path& path) {
  if (path.extension() == ".csv") return RowFormat::kCsv;
  return path.extension() == ".tsv" ? RowFormat::kTsv : RowFormat::kJsonLines;
}

struct RowReader::Impl {
  Impl(std::string_view content, RowFormat how, std::string where)
      : text(content), format(how), place(std::move(where)), csv(content, separator_of(how)) {
    if (format == RowFormat::kJsonLines) return;
    std::optional<CsvReader::Record> first = csv.next();
    if (!first) throw Error(ErrorCode::kInvalidFile, "is empty; a header is needed", place);
    check_header(*first, place);
    header = std::move(first->fields);
  }

  bool next_line_of_json(Row& row, BadRecord& bad) {
    while (at < text.size()) {
      const std::string_view content = next_line(text, at);
      ++line;
      if (is_blank(content)) continue;
      row.line = line;
      row.record = record++;
      if (std::string fault = read_object(content, row); !fault.empty()) {
        bad = {row.line, row.record, std::move(fault)};
      }
      return true;
    }
    return false;
  }

  bool next_record(Row& row, BadRecord& bad) {
    std::optional<CsvReader::Record> found = csv.next();
    if (!found) return false;
    row.line = found->line;
    row.record = record++;
    if (found->fault.empty() && found->fields.size() != header.size()) {
      found->fault = "has " + std::to_string(found->fields.size()) + " fields, the header " +
                     std::to_string(header.size());
    }
    if (!found->fault.empty()) {
      bad = {row.line, row.record, found->fault};
      return true;
    }
    for (size_t i = 0; i < header.size(); ++i) {
      Cell cell;
      cell.kind = Cell::Kind::kText;
      cell.text = std::move(found->fields[i]);
      row.cells.emplace_back(header[i], std::move(cell));
    }
    return true;
  }

  std::string_view text;
  RowFormat format;
  std::string place;
  CsvReader csv;
  std::vector<std::string> header;
  size_t at = 0;
  int64_t line = 0;
  int64_t record = 0;
};

RowReader::RowReader(std::string_view text, RowFormat format, std::string place)
    : impl_(std::make_unique<Impl>(text, format, std::move(place))) {}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;

bool RowReader::next(Row& row, BadRecord& bad) {
  row = {};
  bad = {};
  return impl_->format == RowFormat::kJsonLines ? impl_->next_line_of_json(row, bad)
                                                : impl_->next_record(row, bad);
}

size_t RowReader::bytes_read() const {
  return impl_->format == RowFormat::kJsonLines ? impl_->at : impl_->csv.at();
}

namespace {

Rows read_all(RowReader reader, const std::string& place) {
  Rows result;
  Row row;
  BadRecord bad;
  for (size_t count = 1; reader.next(row, bad); ++count) {
    check_rows(count, place);
    if (bad.reason.empty()) {
      result.rows.push_back(std::move(row));
    } else {
      result.bad.push_back(std::move(bad));
    }
  }
  return result;
}

}  // namespace

Rows parse_json_lines(std::string_view text, const std::string& place) {
  return read_all(RowReader(text, RowFormat::kJsonLines, place), place);
}

Rows parse_csv(std::string_view text, char separator, const std::string& place) {
  const RowFormat format = separator == '\t' ? RowFormat::kTsv : RowFormat::kCsv;
  return read_all(RowReader(text, format, place), place);
}

Rows read_rows(const std::filesystem::path& path) {
  const std::string text = read_dataset(path);
  return read_all(RowReader(text, row_format(path), path.string()), path.string());
}

}  // namespace longformer::io
