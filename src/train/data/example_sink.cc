#include "train/data/example_sink.h"

#include <string_view>

#include "io/datasets/rows.h"
#include "io/files.h"
#include "io/hash.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/model_files.h"
#include "train/data/example_codec.h"
#include "train/data/mapped_text.h"

namespace longformer::train {
namespace {

constexpr size_t kNamed = 10;

}  // namespace

void ExampleSink::bad_record(const std::string& place, const std::string& reason) {
  if (bad_ == BadRecords::kRefuse) throw Error(ErrorCode::kInvalidFile, reason, place);
  ++notices.skipped;
  if (notices.named.size() < kNamed) notices.named.push_back(place + ": " + reason);
}

void ExampleSink::record(const std::string& place, const std::function<void()>& read) {
  ++notices.records;
  try {
    read();
  } catch (const BadExample& bad) {
    bad_record(place, bad.what());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    bad_record(place, error.what());
  }
}

void ExampleSink::add(const TrainingBatch& example) {
  writer_.append(encode_example(example));
  writer_.end_record();
}

std::string tokenizer_id(const std::filesystem::path& directory) {
  io::Sha256 hash;
  std::vector<std::string> names = {"tokenizer.json",
                                    "vocab.txt",
                                    "vocab.json",
                                    "merges.txt",
                                    "tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "added_tokens.json"};
  names.insert(names.end(), tasks::kSentencePieceNames.begin(), tasks::kSentencePieceNames.end());
  for (const std::string& name : names) {
    if (!io::entry_exists(directory / name)) continue;
    hash.update(name + " " + io::sha256_file(directory / name) + "\n");
  }
  return hash.hex();
}

DataModel data_model(const text::Tokenizer& tokenizer, const TaskInfo& info,
                     const EncoderInfo& encoder, const std::filesystem::path& directory) {
  return {tokenizer, tokenizer_id(directory), info, encoder.max_tokens, encoder.type_vocab_size};
}

int64_t max_length_of(const DataModel& model, const DataOptions& options) {
  if (options.max_length == 0) return model.max_tokens;
  if (options.max_length > 2 && options.max_length <= model.max_tokens) return options.max_length;
  throw Error(ErrorCode::kInvalidArgument, "sequences of " + std::to_string(options.max_length) +
                                               " tokens are asked for; allowed: 3 to the " +
                                               std::to_string(model.max_tokens) +
                                               " that the model reads");
}

std::string common_facts(const DataModel& model, const DataOptions& options,
                         const std::string& long_text) {
  const std::optional<int64_t>& sep = model.info.sep_token_id;
  std::string facts = "tokenizer " + model.tokenizer_id + "\n";
  facts += "max_length " + std::to_string(max_length_of(model, options)) + "\n";
  facts += "longer texts " + long_text + "\n";
  facts += "stride " + (options.stride ? std::to_string(*options.stride) : "default") + "\n";
  facts += "token types " + std::to_string(model.type_vocab_size) + "\n";
  if (model.info.global_attention) {
    facts += "global " + (options.global.empty() ? "default" : options.global) + " of " +
             std::string(task_name(model.info.task)) + " separator " +
             (sep ? std::to_string(*sep) : "none") + "\n";
  }
  return facts + split_fact(options.split);
}

int64_t label_number(const tasks::LabelSet& labels, const std::string& name,
                     const std::string& place) {
  if (const std::optional<int64_t> number = labels.find(name)) return *number;
  throw Error(ErrorCode::kInvalidFile,
              "its label " + io::short_value(io::Json(name)) + " is none of the " +
                  std::to_string(labels.size()) + " labels, which are " + labels.list(),
              place);
}

io::Cell& cell_of(io::Row& row, const std::string& field) {
  std::string fields;
  for (auto& [name, cell] : row.cells) {
    if (name == field) return cell;
    if (fields.size() < 200)
      fields += (fields.empty() ? "" : ", ") + io::short_value(io::Json(name));
  }
  throw BadExample("has no field " + io::short_value(io::Json(field)) + "; it has " +
                   (fields.empty() ? "none" : fields));
}

std::string& text_of(io::Row& row, const std::string& field) {
  io::Cell& cell = cell_of(row, field);
  const std::string name = "the field " + io::short_value(io::Json(field));
  if (cell.kind != io::Cell::Kind::kText) throw BadExample(name + " must be a string");
  if (cell.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw BadExample(name + " is empty");
  }
  return cell.text;
}

namespace {

// Visits every record of the files: its path, its cells or what is wrong with it, and its place.
void each_record(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string& path, io::Row& row, const io::BadRecord& bad,
                             const std::string& place)>& visit) {
  for (const std::string& path : paths) {
    MappedText file(path);
    io::RowReader reader(file.text(), io::row_format(path), path);
    io::Row row;
    io::BadRecord bad;
    while (reader.next(row, bad)) {
      visit(path, row, bad, path + " line " + std::to_string(row.line));
      file.read_up_to(reader.bytes_read());
    }
  }
}

}  // namespace

void visit_rows(const std::vector<std::string>& paths, const Split& split, ExampleSink& sink,
                const RowVisitor& visit) {
  each_record(paths, [&](const std::string& path, io::Row& row, const io::BadRecord& bad,
                         const std::string& place) {
    const std::string number = path + ":" + std::to_string(row.record);
    std::string group = number;
    std::string fault = bad.reason;
    try {
      if (fault.empty()) group = group_of(split, row, number);
    } catch (const BadExample& problem) {
      fault = problem.what();
    }
    if (!takes(split, group)) return;
    sink.record(place, [&] {
      if (!fault.empty()) throw BadExample(fault);
      visit(row, place);
    });
  });
}

void visit_records(const std::vector<std::string>& paths, BadRecords bad_records,
                   const std::function<void(io::Row& row)>& visit) {
  each_record(paths, [&](const std::string&, io::Row& row, const io::BadRecord& bad,
                         const std::string& place) {
    std::string fault = bad.reason;
    try {
      if (fault.empty()) visit(row);
    } catch (const BadExample& problem) {
      fault = problem.what();
    }
    if (fault.empty() || bad_records == BadRecords::kSkip) return;
    throw Error(ErrorCode::kInvalidFile, fault, place);
  });
}

}  // namespace longformer::train
