#include "cli/text_task_options.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/limits.h"
#include "cli/head_options.h"
#include "cli/task_options.h"
#include "io/files.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

// Calls of the encoder for which inputs are collected: the last of them is not full.
constexpr int64_t kCollectedCalls = 8;

}  // namespace

void add_text_task_options(CLI::App& app, TextTaskOptions& options) {
  add_model_options(app, options.model);
  add_load_options(app, options.overrides);
  add_head_options(app, options.global, options.allow_new_head);
  app.add_option("--batch-tokens", options.batch_tokens,
                 "Tokens that the model reads in one call; has no influence on the results")
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->capture_default_str();
  app.add_option("--text", options.text, "A text to work on")->type_name("TEXT");
  app.add_option("files", options.files,
                 "Files: text, Markdown, HTML, PDF, DOCX, ODT, gzip of them; directories; - for "
                 "standard input")
      ->type_name("FILES");
  add_document_options(app, io::Copies::kEach, options.documents);
  CLI::Option* const input =
      app.add_option("--input", options.input,
                     "JSON lines, one object a text; - for standard input; may be gzip. Lines that "
                     "cannot be used are named and skipped")
          ->type_name("FILE.jsonl");
  app.add_option("--field", options.field, "The field of an object that holds the text")
      ->needs(input)
      ->capture_default_str();
  app.add_option("--output", options.output,
                 "File for the records, as JSON lines. With --input it may exist: what it answers "
                 "already is not computed again")
      ->type_name("FILE.jsonl");
  app.add_flag("--json", options.json,
               "JSON lines on standard output, as --input gives them anyway; `longformer schema " +
                   app.get_name() + "` lists the keys");
}

LoadedTask load_task(const TextTaskOptions& options, Task task) {
  if (options.model.model.empty() && !options.allow_new_head) {
    throw Error(ErrorCode::kInvalidArgument,
                "name a model that was trained for " + std::string(task_name(task)) +
                    "; the default model has no such head (longformer pull NAME brings one from "
                    "the hub)",
                "--model");
  }
  longformer::TaskOptions load;
  load.load.threads = options.model.threads;
  apply(options.overrides, load.load);
  load.task = task;
  load.allow_new_head = options.allow_new_head;
  LoadedTask loaded{tasks::load_task_text_model(model_directory(options.model), load), {}};
  const TaskInfo& info = loaded.model.model.info();
  if (!options.global.empty()) {
    try {
      loaded.global = tasks::GlobalRule::parse(options.global, info);
    } catch (const Error& error) {
      if (!error.place().empty()) throw;
      throw Error(error.code(), error.what(), "--global");
    }
  }
  report_overrides(loaded.model.model.encoder().info());
  report_new_head(info);
  return loaded;
}

Json TaskInput::record_start() const {
  return {{"line", line ? Json(*line) : Json(nullptr)},
          {"file", document.name.empty() ? Json(nullptr) : Json(document.name)}};
}

std::string text_of(const TextTaskOptions& options, const TaskInput& input) {
  return input.line ? text_field(input.record, options.field) : input.document.text;
}

std::string human_score(const Json& score) {
  if (!score.is_number()) return "nan";
  char text[48];
  std::snprintf(text, sizeof text, "%.4f", score.get<double>());
  return text;
}

namespace {

void check_sources(const TextTaskOptions& options) {
  const int sources =
      (options.text ? 1 : 0) + (options.files.empty() ? 0 : 1) + (options.input.empty() ? 0 : 1);
  if (sources == 1 && options.files.empty()) {
    const auto& list = options.documents.list;
    const char* const unused = !list.include.empty()                        ? "--include"
                               : !list.exclude.empty()                      ? "--exclude"
                               : !options.documents.read.converters.empty() ? "--converter"
                                                                            : nullptr;
    if (unused != nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "is for FILES, and none are named", unused);
    }
  }
  if (sources == 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::string(sources == 0 ? "nothing to read" : "more than one thing to read") +
                  ": name either FILES, or --text TEXT, or --input FILE.jsonl");
}

// The parts of a file joined.
io::Document read_whole(const std::string& name, const io::ReadOptions& options) {
  io::Document whole;
  io::read_document(name, options, [&](io::Document part) {
    if (part.first_byte == 0 && whole.text.empty()) {
      whole = std::move(part);
      return;
    }
    const auto shift = static_cast<int64_t>(whole.text.size());
    if (whole.text.size() + part.text.size() > kMaxDocumentBytes) {
      throw Error(ErrorCode::kInvalidFile, "larger than the limit of " +
                                               std::to_string(kMaxDocumentBytes) +
                                               " bytes for a text that is read at once");
    }
    whole.text += part.text;
    whole.replaced = whole.replaced || part.replaced;
    whole.last = part.last;
    for (io::Heading& heading : part.headings) {
      if (heading.byte < 0) continue;  // stands in an earlier part
      heading.byte += shift;
      whole.headings.push_back(std::move(heading));
    }
  });
  return whole;
}

}  // namespace

struct TextTaskRun::Impl {
  const TextTaskOptions& options;
  io::DocumentList documents;
  std::unique_ptr<LineReader> reader;
  std::unique_ptr<RecordSink> sink;  // none: for people
  Output output;
  ProgressBar bar;
  double computed_share = 0;  // of the inputs
  double taken_share = 0;

  int64_t used = 0;
  int64_t windowed = 0;
  int64_t partly_read = 0;
  int64_t truncated = 0;
  int64_t truncated_tokens = 0;
  std::vector<io::SkippedFile> skipped;
  std::vector<std::string> replaced;
  std::vector<std::string> waiting;  // names of what was taken and has no answer yet
  size_t answered = 0;               // of these

  Impl(const TextTaskOptions& task_options, std::string_view command,
       std::unique_ptr<RecordSink> own_sink)
      : options(task_options), sink(std::move(own_sink)) {
    check_sources(options);
    if (!options.files.empty()) {
      documents = find_documents(options.files, options.documents.list);
    }
    if (!options.output.empty()) {
      for (const std::string& name : documents.names) io::refuse_same_file(options.output, name);
      if (!options.input.empty()) io::refuse_same_file(options.output, options.input);
    }
    ResumePoint from;
    if (sink) {
      // The command's own.
    } else if (!options.output.empty()) {
      sink = options.input.empty() ? whole_file_sink(options.output)
                                   : resumable_sink(options.output, command, from);
    } else if (options.prints_json()) {
      sink = standard_sink();
    }
    if (!options.input.empty()) reader = std::make_unique<LineReader>(options.input, from);
  }

  bool closed() const { return sink ? sink->closed() : output.closed(); }

  void answer(const TaskSteps& steps, const TaskAnswer& result) {
    ++used;
    partly_read += result.partly_read ? 1 : 0;
    windowed += result.windows > 1 && !result.partly_read ? 1 : 0;
    truncated += result.truncated_tokens > 0 ? 1 : 0;
    truncated_tokens += result.truncated_tokens;
    const std::string& name = waiting.at(answered++);
    write(steps, name, result.records);
  }

  void write(const TaskSteps& steps, const std::string& name, std::span<const Json> records) {
    if (records.empty()) return;
    bar.clear();
    if (sink) return sink->add(records);
    std::string indent;
    if (!name.empty() && !steps.human_names_file) {
      output.line(printable(name, Lines::kJoin) + ":");
      indent = "  ";
    }
    for (const Json& record : records) {
      const std::string text = steps.human(record);
      for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        output.line((begin == end ? "" : indent) + text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    output.flush();
  }

  void compute(const TaskSteps& steps) {
    if (waiting.empty()) return;
    answered = 0;
    steps.compute([&](const TaskAnswer& result) { answer(steps, result); });
    waiting.clear();
    computed_share = taken_share;
    bar.update(computed_share);
  }

  // Takes one input, and computes when there is enough.
  template <class Skip>
  void take(const TaskSteps& steps, TaskInput input, int64_t& tokens, const Skip& skip) {
    const std::string name = input.document.name;
    try {
      tokens += steps.take(std::move(input));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument && error.code() != ErrorCode::kInvalidFile) {
        throw;
      }
      return skip(error.what());
    }
    waiting.push_back(name);
    if (tokens < kCollectedCalls * options.batch_tokens) return;
    tokens = 0;
    compute(steps);
  }

  void run_lines(const TaskSteps& steps, int64_t& tokens) {
    while (!closed()) {
      std::optional<InputLine> line = reader->next();
      if (!line) return;
      taken_share = reader->share();
      const int64_t number = line->number;
      TaskInput input;
      input.line = number;
      input.record = std::move(line->record);
      take(steps, std::move(input), tokens,
           [&](const std::string& reason) { reader->skip(number, reason); });
    }
  }

  void run_files(const TaskSteps& steps, int64_t& tokens) {
    for (size_t i = 0; i < documents.names.size() && !closed(); ++i) {
      const std::string& name = documents.names[i];
      taken_share = static_cast<double>(i + 1) / static_cast<double>(documents.names.size());
      const auto skip = [&](const std::string& reason) { skipped.push_back({name, reason}); };
      TaskInput input;
      try {
        input.document = read_whole(name, options.documents.read);
      } catch (const Error& error) {
        skip(error.what());
        continue;
      }
      if (input.document.replaced) replaced.push_back(name);
      take(steps, std::move(input), tokens, skip);
    }
  }

  void run_inputs(const TaskSteps& steps) {
    int64_t tokens = 0;
    if (reader) {
      run_lines(steps, tokens);
    } else if (options.text) {
      TaskInput input;
      input.document.text = *options.text;
      taken_share = 1;
      take(steps, std::move(input), tokens, [](const std::string& reason) {
        throw Error(ErrorCode::kInvalidArgument, reason, "--text");
      });
    } else {
      run_files(steps, tokens);
    }
    compute(steps);
    if (steps.last && used > 0) write(steps, "", steps.last());
  }

  int finish(int64_t max_tokens) {
    report_skipped(skipped);
    report_windows(used, windowed, max_tokens);
    if (partly_read > 0) {
      notice(std::to_string(partly_read) + " of " + counted(used, "text") +
             (partly_read == 1 ? " is" : " are") + " longer than the " +
             std::to_string(max_tokens) +
             " tokens that the model reads at once: read around what was asked for");
    }
    if (truncated > 0) {
      notice(std::to_string(truncated) + " of " + counted(used, "text") +
             (truncated == 1 ? " is" : " are") + " longer than the " + std::to_string(max_tokens) +
             " tokens that the model reads at once: cut off, " +
             counted(truncated_tokens, "token") + " left out");
    }
    report_replaced(replaced);
    size_t skipped_count = documents.skipped.size() + skipped.size();
    int64_t done = used;
    if (reader) {
      const LineSummary& lines = reader->summary();
      skipped_count += static_cast<size_t>(lines.skipped + lines.skipped_before);
      done += lines.resumed;
      if (lines.resumed > 0) {
        notice("continued: " + counted(lines.resumed, "line") + " had been answered before" +
               (lines.skipped_before > 0 ? ", " + std::to_string(lines.skipped_before) + " skipped"
                                         : ""));
      }
      if (lines.skipped > 0) notice("skipped " + counted(lines.skipped, "line"));
    }
    if (done == 0) notice("nothing usable among the inputs");
    return exit_code(done, skipped_count);
  }
};

TextTaskRun::TextTaskRun(const TextTaskOptions& options, std::string_view command,
                         std::unique_ptr<RecordSink> sink)
    : impl_(std::make_unique<Impl>(options, command, std::move(sink))) {}

TextTaskRun::~TextTaskRun() = default;

tasks::TaskRun TextTaskRun::settings(const LoadedTask& task) {
  tasks::TaskRun settings;
  Impl* const impl = impl_.get();
  settings.batch_tokens = impl->options.batch_tokens;
  settings.global = task.global ? &*task.global : nullptr;
  settings.progress = [impl](int64_t done, int64_t total) {
    const double part = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
    impl->bar.update(impl->computed_share + (impl->taken_share - impl->computed_share) * part);
  };
  settings.cancelled = [impl] { return impl->closed(); };
  return settings;
}

int TextTaskRun::run(const TaskSteps& steps, int64_t max_tokens) {
  Impl& impl = *impl_;
  if (impl.options.files.empty() || !impl.documents.names.empty()) {
    try {
      impl.run_inputs(steps);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled || !impl.closed()) throw;
    }  // else the reader went away
  }
  impl.bar.clear();
  const int code = impl.finish(max_tokens);
  if (code == kUsage) return code;
  if (impl.sink) {
    impl.sink->finish();
  } else {
    impl.output.flush();
  }
  return code;
}

}  // namespace longformer::cli
