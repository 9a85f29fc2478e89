// search: passages of long documents, ranked by how much they are like the query: of files that are
// read for it, or of an index.
#include "tasks/search.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/document_options.h"
#include "cli/index_options.h"
#include "cli/output.h"
#include "cli/search_output.h"
#include "cli/task_options.h"
#include "tasks/index_search.h"

namespace longformer::cli {
namespace {

struct SearchCommand {
  TaskOptions task;
  DocumentOptions documents;
  std::string query;
  std::string index;
  std::vector<std::string> paths;
  std::string context;  // empty: what suits the model
  int64_t top = tasks::kDefaultTop;
  double min_score = -1;
  double words = tasks::kDefaultWordsWeight;
  bool json = false;
  bool csv = false;

  ResultFormat format() const {
    if (csv) return ResultFormat::kCsv;
    return json ? ResultFormat::kJson : ResultFormat::kHuman;
  }
};

void report_query(int64_t windows, bool unreadable) {
  if (windows > 1) {
    notice("the query is longer than the model reads at once: read in " + std::to_string(windows) +
           " overlapping windows");
  }
  if (unreadable) report_unreadable({"the query"});
}

int search_files(const SearchCommand& command) {
  const io::DocumentList documents = find_documents(command.task.files, command.documents.list);
  if (documents.names.empty()) {
    notice("nothing to search: none of the files is usable");
    return kUsage;
  }
  tasks::TextModel model = load_model(command.task);
  ProgressBar bar;
  tasks::SearchOptions options;
  options.context =
      tasks::context_from_name(command.context).value_or(tasks::default_context(model));
  if (options.context != tasks::Context::kPassage) report_pooling_inside(model);
  options.top = command.top;
  options.min_score = command.min_score;
  options.words_weight = command.words;
  options.read = command.documents.read;
  options.passages = tasks::passage_options(model, command.task.passage_tokens);
  if (bar.visible()) {
    options.progress = [&](const tasks::SearchProgress& progress) { bar.update(progress.share); };
  }
  tasks::Search search(model, command.query, options);
  search.add_files(documents.names);
  const std::vector<tasks::SearchResult> results = search.results();
  bar.clear();

  const tasks::SearchSummary& summary = search.summary();
  report_skipped(summary.skipped);
  report_windows(summary.documents, summary.windowed, model.capacity());
  report_query(summary.query_windows, summary.query_unreadable);
  report_unreadable(summary.unreadable);
  report_replaced(summary.replaced);
  print_results(results, command.format());
  const int code = exit_code(summary.documents, documents.skipped.size() + summary.skipped.size());
  if (summary.documents == 0) {
    notice("nothing to search: none of the files is usable");
  } else if (results.empty()) {
    notice("nothing found in " + counted(summary.documents, "document"));
  }
  return code == kDone && results.empty() ? kNothingFound : code;
}

int search_index(const SearchCommand& command) {
  const tasks::IndexReader index{std::filesystem::path(command.index)};
  TaskOptions task = command.task;
  use_index_settings(index.collection().settings(), task);
  tasks::TextModel model = load_model(task);
  tasks::IndexSearchOptions options;
  options.top = command.top;
  options.min_score = command.min_score;
  options.words_weight = command.words;
  options.paths = command.paths;
  const tasks::IndexSearchOutcome outcome =
      tasks::search_index(model, model_directory(task.model), index, command.query, options);
  report_query(outcome.query_windows, outcome.query_unreadable);
  print_results(outcome.results, command.format());
  if (!outcome.results.empty()) return kDone;
  notice("nothing found in " + counted(outcome.documents, "document") + " of the index");
  return kNothingFound;
}

int run_search(const SearchCommand& command) {
  if (!command.index.empty()) return search_index(command);
  if (command.task.files.empty()) {
    notice(
        "search: name the FILES to search, or an index with --index. See longformer search "
        "--help.");
    return kUsage;
  }
  return search_files(command);
}

}  // namespace

void add_search(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "search", "Find the passages of long documents that are most like a query");
  auto command = std::make_shared<SearchCommand>();
  app->add_option("query", command->query,
                  "What to look for, in plain words; identifiers and \"quoted phrases\" are also "
                  "looked for letter by letter")
      ->required()
      ->type_name("QUERY");
  add_task_options(*app, command->task);
  add_prompt_option(*app, "--prompt", tasks::TextRole::kQuery, command->task);
  add_prompt_option(*app, "--document-prompt", tasks::TextRole::kDocument, command->task);
  add_document_options(*app, io::Copies::kOnce, command->documents);
  app->add_option(
         "--context", command->context,
         "passage: each passage is read alone; document: with the whole document around "
         "it; both: the mean of the two scores. Default: document, or passage for a model that "
         "pools its first or last token")
      ->check(CLI::IsMember({"passage", "document", "both"}));
  app->add_option("--top", command->top, "Number of passages to show")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  app->add_option("--min-score", command->min_score, "Show only passages with at least this score")
      ->check(numbers_in(-1.0, 1001.0));
  app->add_option("--words", command->words,
                  "Weight of the query's own words (BM25, 0 to 1) beside the likeness of meaning "
                  "(-1 to 1); 0: none")
      ->check(numbers_in(0.0, 1000.0))
      ->capture_default_str();
  CLI::Option* index =
      app->add_option("--index", command->index, "Search this index instead of FILES")
          ->type_name("DIRECTORY");
  app->add_option(
         "--path", command->paths,
         "With --index, only files whose path matches this glob, or that lie below the directory "
         "of this name (repeatable)")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->needs(index);
  for (const char* of_files : {"files", "--context", "--passage-tokens", "--document-prompt",
                               "--include", "--exclude", "--converter"}) {
    app->get_option(of_files)->excludes(index);
  }
  app->add_flag("--json", command->json, "One JSON object a line; see: schema search");
  app->add_flag("--csv", command->csv, "The same as CSV with a header")->excludes("--json");
  commands.add(app, [command] { return run_search(*command); });
}

}  // namespace longformer::cli
