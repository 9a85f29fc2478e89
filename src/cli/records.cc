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

constexpr std::array kTrainStep = {
    Field{"step", FieldType::kInteger, "steps of the optimizer so far"},
    Field{"steps", FieldType::kInteger, "steps that are planned"},
    Field{"epoch", FieldType::kNumber, "passes over the data so far"},
    Field{"loss", FieldType::kNumberOrNull, "mean a label since the line before"},
    Field{"grad_norm", FieldType::kNumberOrNull, "of all gradients, before clipping"},
    Field{"learning_rate", FieldType::kNumber, "of this step"},
    Field{"tokens", FieldType::kInteger, "tokens trained on so far"},
    Field{"tokens_per_second", FieldType::kNumberOrNull, "since the line before"},
    Field{"seconds", FieldType::kNumber, "of training so far"},
    Field{"share_of_peak", FieldType::kNumberOrNull,
          "of what the processor multiplies at most, 0 to 1"},
};

constexpr std::array kTrainEvaluation = {
    Field{"step", FieldType::kInteger, "steps of the optimizer so far"},
    Field{"epoch", FieldType::kNumber, "passes over the data so far"},
    Field{"evaluation", FieldType::kObject, "the metrics by name"},
    Field{"best", FieldType::kBoolean, "whether it is the best so far"},
};

constexpr std::array kTrainResult = {
    Field{"ending", FieldType::kString, "finished, stopped early, interrupted or diverged"},
    Field{"step", FieldType::kInteger, "steps of the optimizer"},
    Field{"steps", FieldType::kInteger, "steps that were planned"},
    Field{"loss", FieldType::kNumberOrNull, "of the last step"},
    Field{"metrics", FieldType::kObject, "of the last evaluation, by name; empty without one"},
    Field{"tokens", FieldType::kInteger, "tokens trained on"},
    Field{"seconds", FieldType::kNumber, "that it took"},
    Field{"best_step", FieldType::kIntegerOrNull, "whose model was the best; null: not compared"},
    Field{"model", FieldType::kStringOrNull, "directory of the model; null: none was written"},
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

// Of a text that a task worked on.
constexpr Field kLine{"line", FieldType::kIntegerOrNull,
                      "of --input, from 1; null: the text was not in one"};
constexpr Field kFile{"file", FieldType::kStringOrNull,
                      "as given, or found below a directory; - for standard input; null: no file"};
constexpr Field kTextTokens{"tokens", FieldType::kInteger,
                            "tokens of the text, without those that the model adds"};
constexpr Field kTextWindows{"windows", FieldType::kInteger,
                             "overlapping pieces in which it was read; 1: at once"};
constexpr Field kTruncated{"truncated_tokens", FieldType::kInteger,
                           "tokens that were cut off: nobody read them"};
constexpr Field kGlobalTokens{"global_tokens", FieldType::kInteger,
                              "tokens with global attention, of all windows or pairs together"};

constexpr std::array kClassify = {
    kLine,
    kFile,
    Field{"label", FieldType::kStringOrNull, "the best; null: none reaches --threshold"},
    Field{"score", FieldType::kNumberOrNull, "of that label"},
    Field{"scores", FieldType::kObjects,
          "label and score of the best --top-k that reach --threshold, best first"},
    kTextTokens,
    kTextWindows,
    kTruncated,
    kGlobalTokens,
};

constexpr std::array kFillMask = {
    kLine,
    kFile,
    Field{"masks", FieldType::kObjectLists,
          "for each mask in order the best --top-k, best first: score, token (id), token_str, "
          "sequence (the text with this token in place; of a long one the window around)"},
    kTextTokens,
    kTextWindows,
    kGlobalTokens,
};

constexpr std::array kChoose = {
    kLine,
    kFile,
    Field{"choice", FieldType::kInteger, "number of the best choice, from 0"},
    Field{"text", FieldType::kString, "that choice"},
    Field{"score", FieldType::kNumber, "its probability"},
    Field{"scores", FieldType::kNumbers, "of each choice, in order"},
    Field{"tokens", FieldType::kInteger,
          "tokens of the longest pair, without those that the model adds"},
    Field{"truncated_tokens", FieldType::kInteger,
          "tokens of the context that were cut off, of the pair that lost most"},
    kGlobalTokens,
};

constexpr std::array kTag = {
    kLine,
    kFile,
    Field{"entities", FieldType::kObjects,
          "in order: entity_group (with --aggregation none: entity, index), score, word (as the "
          "tokenizer decodes it), start, end (code points), byte_start, byte_end, line_start, "
          "line_end, text (what stands there); page_start, page_end where there are pages; "
          "word_start, word_end (from 0, half-open) where words were given"},
    Field{"labels", FieldType::kStrings, "one a word, where words were given; else empty"},
    kTextTokens,
    kTextWindows,
    kGlobalTokens,
};

constexpr std::array kInspect = {
    Field{"model", FieldType::kString, "directory, or config.json, that was read"},
    Field{"model_class", FieldType::kString, "the reference's class that is counted"},
    Field{"layers", FieldType::kInteger, "of the model"},
    Field{"hidden_size", FieldType::kInteger, "of the model"},
    Field{"heads", FieldType::kInteger, "attention heads"},
    Field{"max_tokens", FieldType::kInteger, "longest text that the model reads at once"},
    Field{"overrides", FieldType::kStrings, "what options changed of the model"},
    Field{"length", FieldType::kInteger, "tokens of a document"},
    Field{"global_tokens", FieldType::kInteger, "of them, with global attention"},
    Field{"parameters", FieldType::kInteger, "of the model class"},
    Field{"convention", FieldType::kString,
          "of the counts in self_attention.count and total.count"},
    Field{"self_attention", FieldType::kObject,
          "of layer 0: parameters, count, and one count a convention"},
    Field{"total", FieldType::kObject, "of one document: the same"},
    Field{"modules", FieldType::kObjects,
          "layer (null outside layers), name, parameters, and one count a convention: ptflops, "
          "exact and executed in multiply-accumulates, torch in FLOP"},
    Field{"efficiency", FieldType::kNumber, "exact over executed, of the whole model"},
    Field{"attention_efficiency", FieldType::kNumber, "the same of scores and context alone"},
    Field{"receptive_field", FieldType::kObjects,
          "one a layer: layer, window and dilation (null: full attention), left and right (tokens "
          "that reach this far through all layers so far; null: everything), tokens of the text"},
    Field{"memory", FieldType::kObject,
          "batch, threads, compute, computed, stored; bytes: weights, loading, activations, "
          "file_pages, libraries, peak (their sum, above the empty process), process (with it)"},
};

constexpr std::array kPattern = {
    Field{"pattern", FieldType::kString, "who attends to whom, in words"},
    Field{"length", FieldType::kInteger, "tokens"},
    Field{"heads", FieldType::kInteger, "attention heads"},
    Field{"head", FieldType::kInteger, "the one that is counted, from 0"},
    Field{"layer", FieldType::kIntegerOrNull, "of the model, from 0; null: no model"},
    Field{"scores", FieldType::kInteger, "that the head computes; repeated blocks count each time"},
    Field{"full_scores", FieldType::kInteger, "of full attention: length x length"},
    Field{"share", FieldType::kNumber, "scores / full_scores"},
    Field{"local", FieldType::kInteger, "scores of the window, block window or box"},
    Field{"global", FieldType::kInteger, "scores of the rows and columns of global tokens"},
    Field{"random", FieldType::kInteger, "scores of random blocks"},
    Field{"padding_scores", FieldType::kInteger,
          "beyond `scores`: of keys that fill up the boxes at the border of a grid"},
    Field{"scores_all_heads", FieldType::kInteger, "sum of scores over the heads"},
    Field{"output", FieldType::kStringOrNull, "the picture that was written"},
};

constexpr std::array kAttend = {
    Field{"rank", FieldType::kInteger, "1 for the strongest"},
    Field{"weight", FieldType::kNumber, "share of its attention that the first token gives"},
    Field{"layer", FieldType::kIntegerOrNull, "from 0; null: the average of all"},
    Field{"head", FieldType::kIntegerOrNull, "from 0; null: the average of all"},
    Field{"from", FieldType::kInteger, "the token that looks: its place in the sequence, from 0"},
    Field{"to", FieldType::kInteger, "the token that it looks at"},
    Field{"distance", FieldType::kInteger, "tokens from the first to the second; below 0: back"},
    Field{"from_token", FieldType::kString, "as the vocabulary spells it"},
    Field{"to_token", FieldType::kString, "likewise"},
    Field{"from_start", FieldType::kIntegerOrNull,
          "first character in the document's text; null: a special token"},
    Field{"from_end", FieldType::kIntegerOrNull, "character behind it"},
    Field{"to_start", FieldType::kIntegerOrNull, "likewise"},
    Field{"to_end", FieldType::kIntegerOrNull, "likewise"},
    Field{"from_line", FieldType::kInteger, "from 1; of special tokens the line beside them"},
    Field{"to_line", FieldType::kInteger, "likewise"},
};

constexpr std::array kAnswer = {
    kLine,
    kFile,
    Field{"id", FieldType::kStringOrNull, "of the line of --input"},
    Field{"question", FieldType::kString, "that was asked"},
    Field{"rank", FieldType::kInteger, "1 for the best of the text; with --best, of all"},
    Field{"score", FieldType::kNumber,
          "probability of the span, or of no answer; summed over spans with the same words"},
    Field{"start", FieldType::kInteger, "first code point of the answer in the text, from 0"},
    Field{"end", FieldType::kInteger, "code point behind it"},
    Field{"answer", FieldType::kString, "the words; empty for no answer"},
    Field{"no_answer", FieldType::kBoolean, "whether the text does not answer the question"},
    Field{"null_score", FieldType::kNumber, "of no answer, whether it takes part or not"},
    Field{"byte_start", FieldType::kInteger, "first byte of the answer in the text"},
    Field{"byte_end", FieldType::kInteger, "byte behind it"},
    Field{"line_start", FieldType::kIntegerOrNull, "first line of the answer, from 1"},
    Field{"line_end", FieldType::kIntegerOrNull, "last line"},
    Field{"page_start", FieldType::kIntegerOrNull, "first page, of documents that have pages"},
    Field{"page_end", FieldType::kIntegerOrNull, "last page"},
    Field{"headings", FieldType::kStrings, "the headings above the answer, outermost first"},
    Field{"anchor", FieldType::kStringOrNull, "the id of the innermost heading that has one"},
    Field{"kind", FieldType::kString, "text, markdown, html, pdf, docx, odt or converted"},
    Field{"tokens", FieldType::kInteger, "of question and text, without those that the model adds"},
    kTextWindows,
    kGlobalTokens,
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
    RecordTable{"classify", "One text", kClassify},
    RecordTable{"fill-mask", "One text", kFillMask},
    RecordTable{"choose", "One question", kChoose},
    RecordTable{"answer", "One answer of a text, or of all texts with --best, best first", kAnswer},
    RecordTable{"tag", "One text, or list of words", kTag},
    RecordTable{"convert", "One conversion", kConvert},
    RecordTable{"pull", "One download", kPull},
    RecordTable{"inspect", "One model at one length", kInspect},
    RecordTable{"attend", "One link between two tokens, strongest first", kAttend},
    RecordTable{"bench", "One implementation at one length", kBench},
    RecordTable{"pattern", "The counts of one attention pattern", kPattern},
    RecordTable{"evaluate", "One comparison", kEvaluate},
    RecordTable{"train", "A line of the log of a training", kTrainStep},
    RecordTable{"train-evaluation", "An evaluation during a training", kTrainEvaluation},
    RecordTable{"train-result", "How a training ended: its last line", kTrainResult},
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
    case FieldType::kNumberOrNull:
      return {{"type", {"number", "null"}}};
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
    case FieldType::kObjects:
      return list_of("object");
    case FieldType::kObjectLists:
      return {{"type", "array"}, {"items", list_of("object")}};
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
