// embed: a vector a document, or one a passage.
#include "tasks/embed.h"

#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "io/files.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace longformer::cli {
namespace {

enum class Format { kJsonLines, kNpy, kSafetensors };

struct EmbedCommand {
  TaskOptions task;
  std::string output;
  std::string context = "document";
  bool passages = false;
  bool json = false;
};

Format format_of(const std::string& output) {
  const std::string extension = std::filesystem::path(output).extension().string();
  if (output.empty() || extension == ".jsonl") return Format::kJsonLines;
  if (extension == ".npy") return Format::kNpy;
  if (extension == ".safetensors") return Format::kSafetensors;
  throw Error(ErrorCode::kInvalidArgument, "must end in .jsonl, .npy or .safetensors", "--output");
}

std::string json_record(const tasks::EmbeddingRecord& record) {
  const Json start = {{"file", record.file},
                      {"passage", record.passage ? Json(*record.passage) : Json(nullptr)},
                      {"tokens", record.tokens},
                      {"windows", record.windows}};
  std::string text = json_text(start);
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

class JsonSink : public Sink {
 public:
  explicit JsonSink(const std::string& path) {
    if (!path.empty()) file_ = std::make_unique<io::AtomicFile>(path);
  }
  void add(tasks::EmbeddingRecord record) override {
    const std::string line = json_record(record);
    if (file_) {
      file_->write(line + "\n");
    } else {
      output_.line(line);
    }
  }
  void write() override { file_ ? file_->commit() : output_.flush(); }
  bool closed() const override { return output_.closed(); }

 private:
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

std::unique_ptr<Sink> make_sink(const EmbedCommand& command, const tasks::TextModel& model) {
  switch (format_of(command.output)) {
    case Format::kNpy:
      return std::make_unique<NpySink>(command.output, model.hidden_size());
    case Format::kSafetensors: {
      std::map<std::string, std::string> metadata = {
          {"format", "pt"},
          {"pooling", std::string(tasks::pooling_name(model.pooling.pooling))},
          {"normalized", model.pooling.normalize ? "true" : "false"}};
      if (command.passages) metadata["context"] = command.context;
      return std::make_unique<SafetensorsSink>(command.output, std::move(metadata));
    }
    default:
      return std::make_unique<JsonSink>(command.output);
  }
}

struct EmbedSummary {
  int64_t documents = 0;
  int64_t windowed = 0;
  std::vector<std::string> replaced;
  std::vector<std::string> unreadable;
  std::vector<io::SkippedFile> skipped;
};

// What the caller wants to know of one document.
struct ReadingReport {
  int64_t windows = 1;
  bool unreadable = false;
};

// One document into the sink.
ReadingReport embed_one(const EmbedCommand& command, tasks::TextModel& model,
                        const io::Document& document, const std::string& name,
                        const tasks::Hooks& hooks, Sink& sink) {
  ReadingReport result;
  const auto add = [&](tasks::EmbeddingRecord record) {
    result = {record.windows, record.unreadable};
    sink.add(std::move(record));
  };
  if (command.passages) {
    const tasks::Reading reading =
        command.context == "passage" ? tasks::Reading::kAlone : tasks::Reading::kInDocument;
    tasks::embed_passages(model, name, document.text, reading,
                          tasks::passage_options(model, command.task.passage_tokens), hooks, add);
  } else {
    add(tasks::embed_document(model, name, document.text, hooks));
  }
  return result;
}

EmbedSummary embed_all(const EmbedCommand& command, tasks::TextModel& model,
                       const std::vector<std::string>& names, Sink& sink) {
  EmbedSummary summary;
  ProgressBar bar;
  for (size_t i = 0; i < names.size() && !sink.closed(); ++i) {
    std::optional<io::Document> document;
    try {
      if (format_of(command.output) == Format::kSafetensors &&
          names[i].size() + 16 > kMaxNameBytes) {
        throw Error(ErrorCode::kInvalidArgument, "its name is too long for a tensor's");
      }
      document = io::read_document(names[i]);
    } catch (const Error& error) {
      summary.skipped.push_back({names[i], error.what()});
      continue;
    }
    tasks::Hooks hooks;
    hooks.progress = [&](int64_t done, int64_t total) {
      const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
      bar.update((static_cast<double>(i) + part) / static_cast<double>(names.size()));
    };
    hooks.cancelled = [&] { return sink.closed(); };
    ReadingReport report;
    try {
      report = embed_one(command, model, *document, names[i], hooks, sink);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled || !sink.closed()) throw;  // the reader went away
    }
    ++summary.documents;
    if (report.windows > 1) ++summary.windowed;
    if (report.unreadable) summary.unreadable.push_back(names[i]);
    if (document->replaced) summary.replaced.push_back(names[i]);
  }
  return summary;
}

int run_embed(const EmbedCommand& command) {
  format_of(command.output);
  const io::DocumentList documents = find_documents(command.task.files, io::Copies::kEach);
  if (documents.names.empty()) {
    notice("nothing to embed: none of the files is usable");
    return kUsage;
  }
  tasks::TextModel model = load_model(command.task);
  if (command.passages && model.pooling.pooling == Pooling::kCls && command.context == "document") {
    notice(
        "a passage inside its document has no first token of its own: taking the mean of its token "
        "states");
  }
  const std::unique_ptr<Sink> sink = make_sink(command, model);
  const EmbedSummary summary = embed_all(command, model, documents.names, *sink);
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
  CLI::Option* passages = app->add_flag("--passages", command->passages,
                                        "One vector a passage instead of one a document");
  app->add_option("--context", command->context,
                  "With --passages: document (token states out of the whole document) or passage "
                  "(read alone)")
      ->check(CLI::IsMember({"document", "passage"}))
      ->needs(passages)
      ->capture_default_str();
  CLI::Option* output =
      app->add_option("--output", command->output,
                      "File to write: .jsonl; .npy, one row a vector in the order of the files; "
                      ".safetensors, one tensor a file. Without "
                      "it: JSON lines on standard output");
  app->add_flag(
         "--json", command->json,
         "JSON lines on standard output (the default): file, passage, tokens, windows, embedding")
      ->excludes(output);
  app->get_option("--passage-tokens")->needs(passages);
  commands.add(app, [command] { return run_embed(*command); });
}

}  // namespace longformer::cli
