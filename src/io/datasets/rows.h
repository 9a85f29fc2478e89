// Rows with named cells, from JSON lines, CSV (RFC 4180) and TSV with the same rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/datasets/bad_record.h"

namespace longformer::io {

struct Cell {
  // kLarge: a whole number of JSON beyond 64 bits, which `number` has rounded.
  enum class Kind { kNull, kText, kNumber, kLarge, kList, kObject };
  Kind kind = Kind::kNull;
  // Of a text, a number or a boolean, as it would stand in CSV: 1 and "1" are one label. Whole
  // numbers without a fraction, other ones with the digits that give the same double again.
  std::string text;
  double number = 0;
  std::vector<Cell> list;
  std::vector<std::pair<std::string, Cell>> fields;  // of an object
  const Cell* find(std::string_view name) const;     // null where there is no such field
};

inline constexpr const char* kLargeNumberFault =
    "a whole number beyond 64 bits: write it as a string";  // behind "is" or "holds"

struct Row {
  int64_t line = 0;    // from 1, where it begins
  int64_t record = 0;  // from 0, together with the bad ones
  std::vector<std::pair<std::string, Cell>> cells;
  const Cell* find(std::string_view name) const;  // null where the row has no such cell
};

struct Rows {
  std::vector<Row> rows;
  std::vector<BadRecord> bad;
};

enum class RowFormat { kJsonLines, kCsv, kTsv };
// By the ending of the name: .csv, .tsv, anything else is JSON lines.
RowFormat row_format(const std::filesystem::path& path);

// One row after the other, for files that are larger than memory: what is held is one row. `text`
// must outlive it. Throws as parse_csv.
class RowReader {
 public:
  RowReader(std::string_view text, RowFormat format, std::string place);
  ~RowReader();
  RowReader(RowReader&&) noexcept;
  // The next record: true and `row`, or true and `bad` with a reason; false at the end.
  bool next(Row& row, BadRecord& bad);
  size_t bytes_read() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Blank lines are passed over.
Rows parse_json_lines(std::string_view text, const std::string& place);

// The first record is the header. A quoted field may hold separators, line breaks and doubled
// quotation marks. Bad records: another number of fields than the header, a quotation mark inside
// a field that does not begin with one, text behind a closing one (reading goes on in the next
// line), a quoted field that never ends (nothing behind it is read). Throws kInvalidFile for a
// header that is absent, broken or names a column twice.
Rows parse_csv(std::string_view text, char separator, const std::string& place);

Rows read_rows(const std::filesystem::path& path);

}  // namespace longformer::io
