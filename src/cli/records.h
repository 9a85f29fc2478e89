// The records that the command prints with --json and --csv: one table a command, the source of
// `schema`, of the CSV columns and of the tests that check what is printed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace longformer::cli {

enum class FieldType {
  kString,
  kStringOrNull,
  kInteger,
  kIntegerOrNull,
  kNumber,
  kNumberOrNull,
  kBoolean,
  kStrings,
  kIntegers,
  kNumbers,
  kRanges,  // [[begin, end], …]
  kObject,
  kObjects,
  kObjectLists,  // [[{…}, …], …]
};

struct Field {
  std::string_view key;
  FieldType type;
  std::string_view meaning;
};

struct RecordTable {
  std::string_view command;
  std::string_view meaning;
  std::span<const Field> fields;  // in the order in which they are printed
};

// Null for a command that prints no records.
const RecordTable* find_records(std::string_view command);
std::vector<std::string> commands_with_records();

// JSON Schema (draft 2020-12) of one record.
Json json_schema(const RecordTable& table);

// RFC 4180 lines. Text that a spreadsheet would take for a formula (it begins with = + - @, a tab
// or a line break, or their full-width forms) gets an apostrophe in front. Lists of strings are
// joined by " > "; each number of a kNumbers field has a column of its own.
std::string csv_header(const RecordTable& table, size_t numbers);
std::string csv_line(const RecordTable& table, const Json& record, std::span<const float> numbers);

}  // namespace longformer::cli
