#include "cli/task_options.h"

#include "tasks/passages.h"

namespace longformer::cli {

void add_task_options(CLI::App& app, TaskOptions& options) {
  add_model_options(app, options.model);
  add_load_options(app, options.overrides);
  app.add_option("--pooling", options.pooling,
                 "How token states become a vector; default: what the model's files say")
      ->check(CLI::IsMember(tasks::pooling_name_list()));
  app.add_option("--passage-tokens", options.passage_tokens,
                 "Longest passage in tokens; default " + std::to_string(tasks::kPassageTokens))
      ->check(CLI::Range(tasks::kMinPassageTokens, int64_t{1} << 20));
  app.add_option("files", options.files,
                 "Files: text, Markdown, HTML, PDF, DOCX, ODT, gzip of them; directories; - for "
                 "standard input")
      ->type_name("FILES");
}

void add_prompt_option(CLI::App& app, const std::string& name, tasks::TextRole role,
                       TaskOptions& options) {
  const bool query = role == tasks::TextRole::kQuery;
  app.add_option(name, query ? options.query_prompt : options.document_prompt,
                 std::string("What stands before ") + (query ? "the query" : "every text") +
                     ": query or document for the prompt that the model's files name so, the name "
                     "of another of its prompts, or the prompt itself; default: what the files "
                     "want before " +
                     (query ? "a query" : "a document"))
      ->type_name("query|document|TEXT");
}

namespace {

// A misspelt name is a prompt like any other text: the user is told.
void report_prompt(const std::filesystem::path& directory,
                   const std::optional<std::string>& choice) {
  if (!choice || choice->empty() || *choice == "query" || *choice == "document") return;
  const tasks::Prompts prompts = tasks::read_prompts(directory);
  if (prompts.named.empty() || prompts.named.contains(*choice)) return;
  std::string names;
  for (const auto& [name, text] : prompts.named) names += (names.empty() ? "" : ", ") + name;
  notice("the prompt is none of those that the model's files name (" +
         printable(names, Lines::kJoin) + "): taken as the text itself");
}

}  // namespace

tasks::TextModel load_model(const TaskOptions& options) {
  tasks::TextModelOptions load;
  load.load.threads = options.model.threads;
  apply(options.overrides, load.load);
  load.query_prompt = options.query_prompt;
  load.document_prompt = options.document_prompt;
  if (!options.pooling.empty()) load.pooling = tasks::pooling_from_name(options.pooling);
  const std::filesystem::path directory = model_directory(options.model);
  tasks::TextModel model = tasks::load_text_model(directory, load);
  report_prompt(directory, options.query_prompt);
  report_prompt(directory, options.document_prompt);
  if (!model.modules.stated) {
    notice(
        "the model says nothing about pooling (no modules.json): taking the mean of the token "
        "states; choose with --pooling");
  }
  report_overrides(model.encoder.info());
  return model;
}

io::DocumentList find_documents(const std::vector<std::string>& arguments,
                                const io::ListOptions& options) {
  io::DocumentList list = io::list_documents(arguments, options);
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
         " not what its encoding allows everywhere, or not Unicode: read as Windows-1252, or with "
         "replacement characters for broken bytes");
}

void report_pooling_inside(const tasks::TextModel& model) {
  if (!model.takes_one_state()) return;
  notice(
      "this model pools its first or last token, which a passage inside a document lacks: taking "
      "the mean of the passage's states, for which it was not trained; --context passage reads "
      "each passage alone, as the model expects");
}

}  // namespace longformer::cli
