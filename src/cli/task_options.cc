#include "cli/task_options.h"

#include "tasks/passages.h"

namespace longformer::cli {

void add_task_options(CLI::App& app, TaskOptions& options) {
  add_model_options(app, options.model);
  app.add_option("--pooling", options.pooling,
                 "How token states become a vector; default: what the model's files say")
      ->check(CLI::IsMember({"mean", "cls", "max"}));
  app.add_option("--passage-tokens", options.passage_tokens,
                 "Longest passage in tokens; default " + std::to_string(tasks::kPassageTokens))
      ->check(CLI::Range(tasks::kMinPassageTokens, int64_t{1} << 20));
  app.add_option("files", options.files, "Text files, gzip too; directories; - for standard input")
      ->required()
      ->type_name("FILES");
}

tasks::TextModel load_model(const TaskOptions& options) {
  LoadOptions load;
  load.threads = options.model.threads;
  std::optional<tasks::Pooling> pooling;
  if (!options.pooling.empty()) pooling = tasks::pooling_from_name(options.pooling);
  const std::filesystem::path directory = model_directory(options.model);
  tasks::TextModel model = tasks::load_text_model(directory, load, pooling);
  if (!model.pooling.stated) {
    notice(
        "the model says nothing about pooling (no modules.json): taking the mean of the token "
        "states; choose with --pooling");
  }
  return model;
}

io::DocumentList find_documents(const std::vector<std::string>& arguments, io::Copies copies) {
  io::DocumentList list = io::list_documents(arguments, copies);
  report_skipped(list.skipped);
  report_duplicates(list.duplicates);
  return list;
}

int exit_code(int64_t documents, size_t skipped) {
  if (documents == 0) return kUsage;
  return skipped > 0 ? kSomeSkipped : kDone;
}

void report_windows(int64_t documents, int64_t windowed, int64_t capacity) {
  if (windowed == 0) return;
  notice(std::to_string(windowed) + " of " + counted(documents, "document") +
         (windowed == 1 ? " is" : " are") + " longer than the " + std::to_string(capacity) +
         " tokens that the model reads at once: read in overlapping windows, nothing left out");
}

namespace {

// "a.txt is", "a.txt and 3 others are"
std::string subject(const std::vector<std::string>& names) {
  const std::string first = printable(names[0], Lines::kJoin);
  if (names.size() == 1) return first + " is";
  return first + " and " + counted(static_cast<int64_t>(names.size()) - 1, "other") + " are";
}

}  // namespace

void report_unreadable(const std::vector<std::string>& names) {
  if (names.empty()) return;
  notice(subject(names) +
         " mostly unknown words to this model (another language or script?): expect little of the "
         "result");
}

void report_replaced(const std::vector<std::string>& names) {
  if (names.empty()) return;
  notice(subject(names) +
         " not UTF-8: read as Latin-1, or with replacement characters for broken bytes");
}

}  // namespace longformer::cli
