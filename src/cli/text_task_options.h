// What classify, fill-mask, choose, answer and tag have in common: which model, which texts, where
// the records go, and the way from the one to the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/document_options.h"
#include "cli/line_files.h"
#include "cli/load_options.h"
#include "tasks/task_text.h"

namespace longformer::cli {

struct TextTaskOptions {
  ModelOptions model;
  LoadOverrides overrides;
  DocumentOptions documents;
  std::optional<std::string> text;
  std::vector<std::string> files;
  std::string input;
  std::string field = "text";
  std::string output;
  int64_t batch_tokens = 4096;
  std::string global;  // empty: the task's default
  bool allow_new_head = false;
  bool json = false;

  // Records as JSON lines; otherwise what a person reads.
  bool prints_json() const { return json || !input.empty() || !output.empty(); }
};
void add_text_task_options(CLI::App& app, TextTaskOptions& options);

struct LoadedTask {
  tasks::TaskTextModel model;
  std::optional<tasks::GlobalRule> global;
};
// Says on standard error what the options changed, and which part of the head is random.
LoadedTask load_task(const TextTaskOptions& options, Task task);

// One thing to work on.
struct TaskInput {
  std::optional<int64_t> line;  // of --input
  Json record;                  // that line's object; null elsewhere
  io::Document document;        // a file, or the text of --text; empty where there is a line
  // "line" and "file", with which each record begins.
  Json record_start() const;
};
// What to read of an input: the field of its line, or its document.
std::string text_of(const TextTaskOptions& options, const TaskInput& input);

// Four digits behind the point, as people read scores.
std::string human_score(const Json& score);

// What came of one input.
struct TaskAnswer {
  std::vector<Json> records;  // at least one, unless there is TaskSteps::last
  int64_t windows = 1;
  int64_t truncated_tokens = 0;
  bool partly_read = false;  // by design: only what matters of a long text
};

struct TaskSteps {
  // Keeps an input; returns how many tokens it adds. Throws Error(kInvalidArgument | kInvalidFile)
  // where it cannot be used: it is then skipped, and named.
  std::function<int64_t(TaskInput input)> take;
  // Computes what was taken and forgets it; hands over one answer an input, in order.
  std::function<void(const std::function<void(const TaskAnswer&)>& answer)> compute;
  // A record for a person to read, without the name of its file; ends in no line feed.
  std::function<std::string(const Json& record)> human;
  bool human_names_file = false;  // human() does say the file, so that no line in front has to
  // Records that come at the end, of all inputs together; an input may then have none.
  std::function<std::vector<Json>()> last;
};

// One call of a command: its inputs one after the other, its records to where they belong.
class TextTaskRun {
 public:
  // Checks that there is exactly one source and opens what is read and written. Throws Error.
  // `sink`: for records that are no JSON lines; --output and --json then say nothing here.
  TextTaskRun(const TextTaskOptions& options, std::string_view command,
              std::unique_ptr<RecordSink> sink = nullptr);
  ~TextTaskRun();

  // Settings for tasks::run_sequences: tokens of a call, progress, the end of a reader.
  tasks::TaskRun settings(const LoadedTask& task);
  // Returns the exit code; says on standard error what was skipped, windowed or truncated.
  int run(const TaskSteps& steps, int64_t max_tokens);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer::cli
