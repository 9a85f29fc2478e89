// embed: a vector a document, or one a passage.
#include "tasks/embed.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/document_options.h"
#include "cli/output.h"
#include "cli/records.h"
#include "cli/task_options.h"
#include "io/checkpoint/safetensors.h"
#include "io/files.h"
#include "io/npy.h"

namespace longformer::cli {
namespace {

enum class Format { kJsonLines, kCsv, kNpy, kSafetensors };

struct EmbedCommand {
  TaskOptions task;
  DocumentOptions documents;
  std::string output;
  std::string context;  // empty: what suits the model
  bool passages = false;
  bool json = false;
  bool csv = false;
};

Format format_of(const EmbedCommand& command) {
  const std::string extension = std::filesystem::path(command.output).extension().string();
  if (command.csv || extension == ".csv") return Format::kCsv;
  if (command.output.empty() || extension == ".jsonl") return Format::kJsonLines;
  if (extension == ".npy") return Format::kNpy;
  if (extension == ".safetensors") return Format::kSafetensors;
  throw Error(ErrorCode::kInvalidArgument, "must end in .jsonl, .csv, .npy or .safetensors",
              "--output");
}

// Everything but the vector.
Json record_start(const tasks::EmbeddingRecord& record) {
  const auto page = [](const std::optional<int64_t>& number) {
    return number ? Json(*number) : Json(nullptr);
  };
  return {{"file", record.file},
          {"passage", record.passage ? Json(*record.passage) : Json(nullptr)},
          {"line_start", record.citation.line_start},
          {"line_end", record.citation.line_end},
          {"byte_start", record.bytes.begin},
          {"byte_end", record.bytes.end},
          {"page_start", page(record.citation.page_start)},
          {"page_end", page(record.citation.page_end)},
          {"headings", record.citation.headings},
          {"tokens", record.tokens},
          {"windows", record.windows}};
}

std::string json_record(const tasks::EmbeddingRecord& record) {
  std::string text = json_text(record_start(record));
  text.back() = ',';
  return text + "\"embedding\":" + json_numbers(record.embedding) + "}";
}

// Takes the records of one document after the other; write() at the end makes the file appear.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void add(tasks::EmbeddingRecord record) = 0;
  virtual void write() = 0;
  virtual bool closed() const { return false; }
};

// JSON lines or CSV, to a file or to standard output.
class LineSink : public Sink {
 public:
  LineSink(const std::string& path, Format format) : format_(format) {
    if (!path.empty()) file_ = std::make_unique<io::AtomicFile>(path);
  }
  void add(tasks::EmbeddingRecord record) override {
    if (format_ == Format::kJsonLines) return line(json_record(record));
    const RecordTable& table = *find_records("embed");
    if (!std::exchange(header_written_, true)) line(csv_header(table, record.embedding.size()));
    line(csv_line(table, record_start(record), record.embedding));
  }
  void write() override { file_ ? file_->commit() : output_.flush(); }
  bool closed() const override { return output_.closed(); }

 private:
  void line(const std::string& text) {
    if (file_) {
      file_->write(text + "\n");
    } else {
      output_.line(text);
    }
  }

  Format format_;
  bool header_written_ = false;
  std::unique_ptr<io::AtomicFile> file_;
  Output output_;
};

class NpySink : public Sink {
 public:
  NpySink(std::string path, int64_t columns) : path_(std::move(path)), columns_(columns) {}
  void add(tasks::EmbeddingRecord record) override {
    values_.insert(values_.end(), record.embedding.begin(), record.embedding.end());
    ++rows_;
  }
  void write() override { io::write_npy(path_, values_, rows_, columns_); }

 private:
  std::string path_;
  int64_t columns_;
  int64_t rows_ = 0;
  std::vector<float> values_;
};

// NAME: [hidden] or [passages, hidden]; with passages also NAME#bytes: [passages, 2], where each
// lies in its document.
class SafetensorsSink : public Sink {
 public:
  SafetensorsSink(std::string path, std::map<std::string, std::string> metadata)
      : path_(std::move(path)), metadata_(std::move(metadata)) {}
  void add(tasks::EmbeddingRecord record) override {
    if (record.file != file_) close();
    file_ = record.file;
    passages_ = record.passage.has_value();
    columns_ = static_cast<int64_t>(record.embedding.size());
    values_.insert(values_.end(), record.embedding.begin(), record.embedding.end());
    bytes_.push_back(record.bytes.begin);
    bytes_.push_back(record.bytes.end);
  }
  void write() override {
    close();
    io::write_safetensors(path_, tensors_, metadata_);
  }

 private:
  void close() {
    if (values_.empty()) return;
    const int64_t rows = static_cast<int64_t>(bytes_.size()) / 2;
    const std::string name = Json::parse(json_text(Json(file_))).get<std::string>();  // valid UTF-8
    const Shape shape = passages_ ? Shape{rows, columns_} : Shape{columns_};
    tensors_.push_back({name, make_tensor(shape, std::span<const float>(values_))});
    if (passages_) {
      tensors_.push_back(
          {name + "#bytes", make_tensor({rows, 2}, std::span<const int64_t>(bytes_))});
    }
    values_.clear();
    bytes_.clear();
  }

  std::string path_;
  std::map<std::string, std::string> metadata_;
  std::vector<io::NamedTensor> tensors_;
  std::string file_;
  bool passages_ = false;
  int64_t columns_ = 0;
  std::vector<float> values_;
  std::vector<int64_t> bytes_;
};

std::string pooling_text(const tasks::TextModel& model) {
  std::string names;
  for (const Pooling pooling : model.modules.pooling) {
    names += (names.empty() ? "" : "+") + std::string(tasks::pooling_name(pooling));
  }
  return names;
}

std::unique_ptr<Sink> make_sink(const EmbedCommand& command, const tasks::TextModel& model) {
  switch (format_of(command)) {
    case Format::kNpy:
      return std::make_unique<NpySink>(command.output, model.dimension());
    case Format::kSafetensors: {
      std::map<std::string, std::string> metadata = {
          {"format", "pt"},
          {"pooling", pooling_text(model)},
          {"prompt", model.document_prompt},
          {"normalized", model.normalized() ? "true" : "false"}};
      if (command.passages) metadata["context"] = command.context;
      if (const std::string compute = compute_note(model.encoder.info()); !compute.empty()) {
        metadata["compute"] = compute;
      }
      return std::make_unique<SafetensorsSink>(command.output, std::move(metadata));
    }
    default:
      return std::make_unique<LineSink>(command.output, format_of(command));
  }
}

struct EmbedSummary {
  int64_t documents = 0;
  int64_t windowed = 0;
  std::vector<std::string> replaced;
  std::vector<std::string> unreadable;
  std::vector<io::SkippedFile> skipped;
};

// What is said of one file in the end.
struct FileReport {
  int64_t windows = 1;
  bool unreadable = false;
  bool replaced = false;
  bool read = false;
};

tasks::EmbedSettings settings_of(const EmbedCommand& command, const tasks::TextModel& model) {
  tasks::EmbedSettings settings;
  if (command.passages) {
    settings.passages = tasks::passage_options(model, command.task.passage_tokens);
    if (command.context == "passage") settings.reading = tasks::Reading::kAlone;
  }
  return settings;
}

// Reads the files into the sink; a file is known to the embedder by its number.
class Embedding {
 public:
  Embedding(const EmbedCommand& command, tasks::TextModel& model,
            const std::vector<std::string>& names, Sink& sink)
      : command_(command),
        names_(names),
        sink_(sink),
        reports_(names.size()),
        embedder_(model, hooked(settings_of(command, model)),
                  [this](tasks::EmbeddingRecord record) { take(std::move(record)); }) {}

  EmbedSummary run() {
    try {
      for (size_t i = 0; i < names_.size() && !sink_.closed(); ++i) read(i);
      if (!sink_.closed()) embedder_.flush();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled || !sink_.closed()) throw;
    }  // else the reader went away
    for (size_t i = 0; i < names_.size(); ++i) {
      const FileReport& report = reports_[i];
      if (!report.read) continue;
      ++summary_.documents;
      if (report.windows > 1) ++summary_.windowed;
      if (report.unreadable) summary_.unreadable.push_back(names_[i]);
      if (report.replaced) summary_.replaced.push_back(names_[i]);
    }
    return std::move(summary_);
  }

 private:
  tasks::EmbedSettings hooked(tasks::EmbedSettings settings) {
    settings.progress = [this](const tasks::WaitingDocument& waiting, double share) {
      bar_.update((static_cast<double>(waiting.key) + share) / static_cast<double>(names_.size()));
    };
    settings.cancelled = [this] { return sink_.closed(); };
    return settings;
  }

  void take(tasks::EmbeddingRecord record) {
    FileReport& report = reports_[static_cast<size_t>(record.key)];
    report.windows = std::max(report.windows, record.windows);
    report.unreadable = report.unreadable || record.unreadable;
    sink_.add(std::move(record));
  }

  void read(size_t i) {
    std::exception_ptr failure;  // not of the file
    const auto add_part = [&](io::Document document) {
      // A whole document has one vector; what cannot be held at once has no vector.
      if (!command_.passages && !document.last) {
        throw Error(ErrorCode::kInvalidArgument,
                    "too long for one vector; --passages gives one a passage");
      }
      reports_[i].replaced = reports_[i].replaced || document.replaced;
      try {
        embedder_.add(static_cast<int64_t>(i), std::move(document));
      } catch (...) {
        failure = std::current_exception();
        throw;
      }
    };
    try {
      if (format_of(command_) == Format::kSafetensors && names_[i].size() + 16 > kMaxNameBytes) {
        throw Error(ErrorCode::kInvalidArgument, "its name is too long for a tensor's");
      }
      io::read_document(names_[i], command_.documents.read, add_part);
      reports_[i].read = true;
    } catch (const Error& error) {
      if (failure) std::rethrow_exception(failure);
      summary_.skipped.push_back({names_[i], error.what()});
    }
  }

  const EmbedCommand& command_;
  const std::vector<std::string>& names_;
  Sink& sink_;
  ProgressBar bar_;
  EmbedSummary summary_;
  std::vector<FileReport> reports_;  // by file
  tasks::DocumentEmbedder embedder_;
};

int run_embed(EmbedCommand command) {
  format_of(command);
  const io::DocumentList documents = find_documents(command.task.files, command.documents.list);
  if (documents.names.empty()) {
    notice("nothing to embed: none of the files is usable");
    return kUsage;
  }
  tasks::TextModel model = load_model(command.task);
  if (command.context.empty()) command.context = model.takes_one_state() ? "passage" : "document";
  if (command.passages && command.context == "document") report_pooling_inside(model);
  const std::unique_ptr<Sink> sink = make_sink(command, model);
  const EmbedSummary summary = Embedding(command, model, documents.names, *sink).run();
  report_skipped(summary.skipped);
  if (summary.documents == 0) {
    notice("nothing to embed: none of the files is usable");
    return kUsage;
  }
  sink->write();
  report_windows(summary.documents, summary.windowed, model.capacity());
  report_unreadable(summary.unreadable);
  report_replaced(summary.replaced);
  return exit_code(summary.documents, documents.skipped.size() + summary.skipped.size());
}

}  // namespace

void add_embed(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("embed", "Vectors of long documents, or of their passages");
  auto command = std::make_shared<EmbedCommand>();
  add_task_options(*app, command->task);
  app->get_option("files")->required();
  add_document_options(*app, io::Copies::kEach, command->documents);
  add_prompt_option(*app, "--prompt", tasks::TextRole::kDocument, command->task);
  CLI::Option* passages = app->add_flag("--passages", command->passages,
                                        "One vector a passage instead of one a document");
  app->add_option("--context", command->context,
                  "With --passages: document (token states out of the whole document) or passage "
                  "(read alone); default: document, or passage for a model that pools its first or "
                  "last token")
      ->check(CLI::IsMember({"document", "passage"}))
      ->needs(passages);
  CLI::Option* output = app->add_option(
      "--output", command->output,
      "File to write: .jsonl; .csv; .npy, one row a vector in the order of the files; "
      ".safetensors, one tensor a file. Without "
      "it: JSON lines on standard output");
  app->add_flag(
         "--json", command->json,
         "JSON lines on standard output (the default); `longformer schema embed` lists the keys")
      ->excludes(output);
  app->add_flag("--csv", command->csv, "CSV on standard output, a column a number of the vector")
      ->excludes(output)
      ->excludes("--json");
  app->get_option("--passage-tokens")->needs(passages);
  commands.add(app, [command] { return run_embed(*command); });
}

}  // namespace longformer::cli
