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
  bool any() const { return !large_.empty(); }

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
    cell.kind = Cell::Kind::kOther;
    if (large.any()) {
      for (const Json& item : value) cell_of(item, large);  // past its numbers
    }
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

}  // namespace

const Cell* Row::find(std::string_view name) const {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const auto& cell) { return cell.first == name; });
  return found == cells.end() ? nullptr : &found->second;
}

Rows parse_json_lines(std::string_view text, const std::string& place) {
  Rows result;
  int64_t line = 0, record = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view content = next_line(text, at);
    ++line;
    if (is_blank(content)) continue;
    check_rows(static_cast<size_t>(record) + 1, place);
    Row row{line, record++, {}};
    std::string fault = text_fault(content);
    if (fault.empty()) {
      try {
        const Json value = parse_json(content, "line", DuplicateKeys::kRefused);
        if (value.is_object()) {
          LargeNumbers large(content);
          for (const auto& [name, item] : value.items())
            row.cells.emplace_back(name, cell_of(item, large));
        } else {
          fault = "is no JSON object";
        }
      } catch (const Error& error) {
        fault = std::string(error.what()).substr(error.place().size() + 2);
      }
    }
    if (fault.empty()) {
      result.rows.push_back(std::move(row));
    } else {
      result.bad.push_back({line, row.record, fault});
    }
  }
  return result;
}

Rows parse_csv(std::string_view text, char separator, const std::string& place) {
  CsvReader reader(text, separator);
  const std::optional<CsvReader::Record> header = reader.next();
  if (!header) throw Error(ErrorCode::kInvalidFile, "is empty; a header is needed", place);
  check_header(*header, place);
  Rows result;
  for (int64_t index = 0; auto record = reader.next(); ++index) {
    check_rows(static_cast<size_t>(index) + 1, place);
    if (record->fault.empty() && record->fields.size() != header->fields.size()) {
      record->fault = "has " + std::to_string(record->fields.size()) + " fields, the header " +
                      std::to_string(header->fields.size());
    }
    if (!record->fault.empty()) {
      result.bad.push_back({record->line, index, record->fault});
      continue;
    }
    Row row{record->line, index, {}};
    for (size_t i = 0; i < record->fields.size(); ++i) {
      Cell cell;
      cell.kind = Cell::Kind::kText;
      cell.text = std::move(record->fields[i]);
      row.cells.emplace_back(header->fields[i], std::move(cell));
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

Rows read_rows(const std::filesystem::path& path) {
  const std::string text = read_dataset(path);
  const std::string place = path.string();
  if (path.extension() == ".csv") return parse_csv(text, ',', place);
  if (path.extension() == ".tsv") return parse_csv(text, '\t', place);
  return parse_json_lines(text, place);
}

}  // namespace longformer::io
