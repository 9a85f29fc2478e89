#include "cli/records.h"

#include <algorithm>
#include <array>

namespace longformer::cli {
namespace {

constexpr std::array kSearch = {
    Field{"rank", FieldType::kInteger, "1 for the best"},
    Field{"score", FieldType::kNumber,
          "what results are sorted by: the cosine of query and passage, plus the weight of exact "
          "words where they count"},
    Field{"cosine", FieldType::kNumber, "of query and passage, -1 to 1"},
    Field{"words", FieldType::kNumber,
          "BM25 of the query's words, over the largest of the search: 0 to 1"},
    Field{"verbatim", FieldType::kInteger,
          "identifiers and quoted phrases of the query that the passage contains; more come first"},
    Field{"file", FieldType::kString, "as given, or found below a directory; - for standard input"},
    Field{"line_start", FieldType::kInteger, "first line of the passage, from 1"},
    Field{"line_end", FieldType::kInteger, "last line of the passage"},
    Field{"byte_start", FieldType::kInteger, "first byte of the passage in the document's text"},
    Field{"byte_end", FieldType::kInteger, "byte behind the passage"},
    Field{"page_start", FieldType::kIntegerOrNull, "first page, of documents that have pages"},
    Field{"page_end", FieldType::kIntegerOrNull, "last page"},
    Field{"headings", FieldType::kStrings, "the headings above the passage, outermost first"},
    Field{"anchor", FieldType::kStringOrNull, "the id of the innermost heading that has one"},
    Field{"kind", FieldType::kString, "text, markdown, html, pdf, docx, odt or converted"},
    Field{"passage", FieldType::kString, "the text"},
    Field{"best_sentence", FieldType::kString,
          "the sentence of the passage that is most like the query"},
};

constexpr std::array kIndex = {
    Field{"index", FieldType::kString, "the directory, as given"},
    Field{"files", FieldType::kInteger, "files in the index now"},
    Field{"passages", FieldType::kInteger, "passages in the index now"},
    Field{"added", FieldType::kInteger, "files that were new"},
    Field{"changed", FieldType::kInteger, "files that were read again"},
    Field{"moved", FieldType::kInteger, "files with a new path, not read again"},
    Field{"removed", FieldType::kInteger, "files that were there and are gone"},
    Field{"unchanged", FieldType::kInteger, "files as they were"},
    Field{"skipped", FieldType::kInteger, "files that could not be read"},
    Field{"kept", FieldType::kInteger,
          "files that were not found but stay: a PATH was missing or empty"},
    Field{"tokens", FieldType::kInteger, "tokens read"},
    Field{"compacted", FieldType::kBoolean,
          "whether vectors of removed passages were cleared away"},
    Field{"seconds", FieldType::kNumber, "that it took"},
};

constexpr std::array kEmbed = {
    Field{"file", FieldType::kString, "as given, or found below a directory; - for standard input"},
    Field{"passage", FieldType::kStringOrNull, "the text of the passage; null: the whole document"},
    Field{"line_start", FieldType::kInteger, "first line, from 1"},
    Field{"line_end", FieldType::kInteger, "last line"},
    Field{"byte_start", FieldType::kInteger, "first byte in the document's text"},
    Field{"byte_end", FieldType::kInteger, "byte behind it"},
    Field{"page_start", FieldType::kIntegerOrNull, "first page, of documents that have pages"},
    Field{"page_end", FieldType::kIntegerOrNull, "last page"},
    Field{"headings", FieldType::kStrings, "the headings above it, outermost first"},
    Field{"tokens", FieldType::kInteger, "tokens read, without those that the model adds"},
    Field{"windows", FieldType::kInteger, "pieces in which the text was read; 1: at once"},
    Field{"embedding", FieldType::kNumbers, "the vector"},
};

constexpr std::array kTokenize = {
    Field{"file", FieldType::kString, "as given, or found below a directory; - for standard input"},
    Field{"window", FieldType::kInteger,
          "number of the window or of the part of a large file, from 0"},
    Field{"input_ids", FieldType::kIntegers, "ids, with the special tokens that the model expects"},
    Field{"tokens", FieldType::kStrings, "the same as the vocabulary spells them"},
    Field{"offsets", FieldType::kRanges, "half-open, in the unit of --offsets"},
    Field{"type_ids", FieldType::kIntegers,
          "0 for the first text, 1 for the second where the "
          "model tells them apart"},
    Field{"sequence_ids", FieldType::kIntegers,
          "0 for tokens of the first text, 1 of the second, -1 for special tokens"},
    Field{"words", FieldType::kIntegers, "the word that a token belongs to; -1: none"},
};

constexpr std::array kConvert = {
    Field{"destination", FieldType::kString, "the directory that was written"},
    Field{"tensors", FieldType::kInteger, "tensors written"},
    Field{"dropped", FieldType::kStrings, "tensors that the result has no place for"},
    Field{"files", FieldType::kStrings, "tokenizer and module files that went along"},
    Field{"refused", FieldType::kStrings,
          "functions that a .bin asked to call; none was, their objects are left alone"},
    Field{"checked_tokens", FieldType::kIntegerOrNull,
          "with --to-long: length of the text that both models read"},
    Field{"largest_difference", FieldType::kNumber,
          "with --to-long: between their hidden states, all layers"},
};

constexpr std::array kPull = {
    Field{"model", FieldType::kString, "the name"},
    Field{"revision", FieldType::kString, "branch, tag or commit that was asked for"},
    Field{"commit", FieldType::kString, "what it stands for"},
    Field{"directory", FieldType::kString, "where the files are"},
    Field{"files", FieldType::kInteger, "files of the model that are used"},
    Field{"bytes", FieldType::kInteger, "their size"},
    Field{"downloaded_files", FieldType::kInteger, "files that this run brought"},
    Field{"downloaded_bytes", FieldType::kInteger, "bytes that this run brought"},
};

constexpr std::array kBench = {
    Field{"implementation", FieldType::kString, "longformer, loop, chunks, full or reference"},
    Field{"length", FieldType::kInteger, "tokens"},
    Field{"seconds_median", FieldType::kNumber, "of one call, over the repeats"},
    Field{"seconds_min", FieldType::kNumber, "the fastest repeat"},
    Field{"seconds_max", FieldType::kNumber, "the slowest repeat"},
    Field{"peak_bytes", FieldType::kInteger,
          "resident memory at its highest during a call, above what was there before"},
    Field{"repeats", FieldType::kInteger, "processes that measured it"},
    Field{"threads", FieldType::kInteger, "that computed"},
    Field{"model", FieldType::kStringOrNull, "directory of the model; null: attention alone"},
    Field{"window", FieldType::kIntegerOrNull, "of attention; null: the model's"},
    Field{"dilation", FieldType::kIntegerOrNull, "of attention; null: the model's"},
    Field{"heads", FieldType::kInteger, "attention heads"},
    Field{"head_dim", FieldType::kInteger, "size of a head"},
};

constexpr std::array kEvaluate = {
    Field{"task", FieldType::kString, "as asked"},
    Field{"items", FieldType::kInteger, "records, questions, sentences or queries compared"},
    Field{"skipped", FieldType::kInteger, "records that could not be read"},
    Field{"missing", FieldType::kInteger, "items without a prediction, which count as wrong"},
    Field{"metrics", FieldType::kObject, "numbers by the names of the reference packages"},
    Field{"labels", FieldType::kObject, "the same of each class or type of entity; may be empty"},
};

constexpr std::array kTables = {
    RecordTable{"search", "One passage, best first", kSearch},
    RecordTable{"index", "The summary of one run of index or index merge", kIndex},
    RecordTable{"embed", "One document, or with --passages one passage", kEmbed},
    RecordTable{"tokenize", "One text, or one window of it", kTokenize},
    RecordTable{"convert", "One conversion", kConvert},
    RecordTable{"pull", "One download", kPull},
    RecordTable{"bench", "One implementation at one length", kBench},
    RecordTable{"evaluate", "One comparison", kEvaluate},
};

Json list_of(const char* type) { return {{"type", "array"}, {"items", {{"type", type}}}}; }

Json type_schema(FieldType type) {
  switch (type) {
    case FieldType::kString:
      return {{"type", "string"}};
    case FieldType::kStringOrNull:
      return {{"type", {"string", "null"}}};
    case FieldType::kInteger:
      return {{"type", "integer"}};
    case FieldType::kIntegerOrNull:
      return {{"type", {"integer", "null"}}};
    case FieldType::kNumber:
      return {{"type", "number"}};
    case FieldType::kBoolean:
      return {{"type", "boolean"}};
    case FieldType::kStrings:
      return list_of("string");
    case FieldType::kIntegers:
      return list_of("integer");
    case FieldType::kNumbers:
      return {{"type", "array"}, {"items", {{"type", {"number", "null"}}}}};
    case FieldType::kRanges: {
      Json pair = list_of("integer");
      pair["minItems"] = 2;
      pair["maxItems"] = 2;
      return {{"type", "array"}, {"items", std::move(pair)}};
    }
    case FieldType::kObject:
      return {{"type", "object"}};
  }
  return {};
}

bool looks_like_formula(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kStarts = {"=",
                                                               "+",
                                                               "-",
                                                               "@",
                                                               "\t",
                                                               "\r",
                                                               "\n",
                                                               "\xEF\xBC\x9D",
                                                               "\xEF\xBC\x8B",
                                                               "\xEF\xBC\x8D",
                                                               "\xEF\xBC\xA0"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

std::string text_cell(std::string_view text) {
  std::string cell = looks_like_formula(text) ? "'" : "";
  cell += text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return text_cell(value.get_ref<const std::string&>());
  if (!value.is_array()) return json_text(value);
  std::string joined;
  for (const Json& item : value) {
    if (!joined.empty()) joined += " > ";
    joined += item.is_string() ? item.get<std::string>() : json_text(item);
  }
  return text_cell(joined);
}

}  // namespace

const RecordTable* find_records(std::string_view command) {
  for (const RecordTable& table : kTables) {
    if (table.command == command) return &table;
  }
  return nullptr;
}

std::vector<std::string> commands_with_records() {
  std::vector<std::string> names;
  for (const RecordTable& table : kTables) names.emplace_back(table.command);
  return names;
}

Json json_schema(const RecordTable& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : table.fields) {
    Json property = type_schema(field.type);
    property["description"] = field.meaning;
    properties[std::string(field.key)] = std::move(property);
    required.push_back(field.key);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "longformer " + std::string(table.command)},
          {"description", table.meaning},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)}};
}

std::string csv_header(const RecordTable& table, size_t numbers) {
  std::string line;
  const auto add = [&](const std::string& name) { line += (line.empty() ? "" : ",") + name; };
  for (const Field& field : table.fields) {
    if (field.type != FieldType::kNumbers) {
      add(std::string(field.key));
      continue;
    }
    for (size_t i = 0; i < numbers; ++i) add(std::string(field.key) + "_" + std::to_string(i));
  }
  return line + "\r";
}

std::string csv_line(const RecordTable& table, const Json& record, std::span<const float> numbers) {
  std::string line;
  bool first = true;
  for (const Field& field : table.fields) {
    if (!first) line += ',';
    first = false;
    if (field.type == FieldType::kNumbers) {
      const std::string list = json_numbers(numbers);
      line += list.substr(1, list.size() - 2);
    } else {
      line += cell(record.value(std::string(field.key), Json()));
    }
  }
  return line + "\r";
}

}  // namespace longformer::cli
