// index: read a collection once, search it many times; index merge: one index from several.
#include "tasks/index.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/document_options.h"
#include "cli/index_options.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "io/files.h"
#include "tasks/index_changes.h"

namespace longformer::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct IndexCommand {
  TaskOptions task;
  DocumentOptions documents;
  std::string output;
  std::string context;
  std::string vectors;
  std::string shard;
  std::optional<int64_t> dims;
  bool rebuild = false;
  bool json = false;
};

struct MergeCommand {
  std::vector<std::string> inputs;
  std::string output;
  bool json = false;
};

tasks::IndexChoices choices_of(const IndexCommand& command) {
  tasks::IndexChoices choices;
  if (!command.context.empty()) choices.context = tasks::context_from_name(command.context);
  if (!command.vectors.empty()) choices.vectors = io::vector_kind_from_name(command.vectors);
  if (!command.shard.empty()) choices.shard = tasks::parse_shard(command.shard);
  choices.passage_tokens = command.task.passage_tokens;
  choices.dims = command.dims;
  return choices;
}

// Files of the index that were not found but stay, because the PATH above them is missing or empty.
int64_t kept_files(const tasks::IndexSummary& summary) {
  int64_t files = 0;
  for (const tasks::KeptFiles& kept : summary.kept) files += kept.files;
  return files;
}

void print_summary(const std::string& output, const tasks::IndexSummary& summary, size_t skipped,
                   double seconds, bool json) {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  notice("index " + printable(output, Lines::kJoin) + ": " + std::to_string(summary.added) +
         " added, " + std::to_string(summary.changed) + " changed, " +
         std::to_string(summary.moved) + " moved, " + std::to_string(summary.removed) +
         " removed, " + std::to_string(summary.unchanged) + " unchanged, " +
         std::to_string(skipped) + " skipped; " + counted(summary.files, "file") + ", " +
         counted(summary.passages, "passage") + "; " + time);
  if (!json) return;
  Output out;
  out.line(json_text({{"index", output},
                      {"files", summary.files},
                      {"passages", summary.passages},
                      {"added", summary.added},
                      {"changed", summary.changed},
                      {"moved", summary.moved},
                      {"removed", summary.removed},
                      {"unchanged", summary.unchanged},
                      {"skipped", skipped},
                      {"kept", kept_files(summary)},
                      {"tokens", summary.tokens},
                      {"compacted", summary.compacted},
                      {"seconds", seconds}}));
  out.flush();
}

// What the arguments name, without the index itself, which may lie among them.
io::DocumentList documents_beside(const IndexCommand& command) {
  io::DocumentList list = io::list_documents(command.task.files, command.documents.list);
  const std::string own = tasks::absolute_name(command.output);
  std::erase_if(list.names, [&](const std::string& name) {
    return tasks::is_below(tasks::absolute_name(name), own);
  });
  for (std::vector<io::SkippedFile>* files : {&list.skipped, &list.duplicates}) {
    std::erase_if(*files, [&](const io::SkippedFile& file) {
      return tasks::is_below(tasks::absolute_name(file.name), own);
    });
  }
  if (std::erase(list.names, "-") > 0) {
    list.skipped.push_back({"-", "standard input has no name to be found under again"});
  }
  report_skipped(list.skipped);
  report_duplicates(list.duplicates);
  return list;
}

// What passages inside documents are to a model that pools one token is said as search says it.
void report_context(const tasks::TextModel& model, const tasks::IndexChoices& choices,
                    const io::Settings& known) {
  const tasks::Context context =
      choices.context.value_or(tasks::context_from_name(tasks::setting(known, "context"))
                                   .value_or(tasks::default_context(model)));
  if (context != tasks::Context::kPassage) report_pooling_inside(model);
}

void report_kept(const std::vector<tasks::KeptFiles>& kept) {
  for (const tasks::KeptFiles& files : kept) {
    notice(printable(files.argument, Lines::kJoin) + ": no file is there now; what the index has " +
           "below it is kept (" + counted(files.files, "file") +
           "); to leave it out, build the index anew with --rebuild");
  }
}

tasks::IndexHooks hooks_of(ProgressBar& bar) {
  tasks::IndexHooks hooks;
  if (bar.visible()) hooks.progress = [&bar](double share) { bar.update(share); };
  return hooks;
}

int run_index(const IndexCommand& command) {
  if (command.task.files.empty() || command.output.empty()) {
    notice(
        "index: name the PATHS to read and the directory of the index with --output. "
        "See longformer index --help.");
    return kUsage;
  }
  const Clock::time_point start = Clock::now();
  tasks::IndexChoices choices = choices_of(command);
  const auto mode =
      command.rebuild ? tasks::IndexWriter::Mode::kRebuild : tasks::IndexWriter::Mode::kUpdate;
  // A second writer is told at once; a new directory is made only when there is something to index.
  std::unique_ptr<tasks::IndexWriter> writer;
  const bool existed = io::entry_exists(command.output);
  if (existed) {
    writer = std::make_unique<tasks::IndexWriter>(command.output, mode);
  }
  const io::DocumentList documents = documents_beside(command);
  if (documents.names.empty() && (!writer || writer->settings().empty())) {
    notice("nothing to index: none of the files is usable");
    return kUsage;
  }
  if (!writer) writer = std::make_unique<tasks::IndexWriter>(command.output, mode);
  TaskOptions task = command.task;
  use_index_settings(writer->settings(), task);
  tasks::TextModel model = load_model(task);
  report_context(model, choices, writer->settings());
  choices.notes = notes_of(task.overrides);
  ProgressBar bar;
  tasks::IndexInput input{command.task.files, documents.names, {}, command.documents.read};
  for (const io::SkippedFile& copy : documents.duplicates) input.copies.push_back(copy.name);
  const tasks::IndexSummary summary =
      writer->update(model, model_directory(task.model), choices, input, hooks_of(bar));
  bar.clear();

  report_skipped(summary.skipped);
  report_windows(summary.added + summary.changed, summary.windowed, model.capacity());
  report_unreadable(summary.unreadable);
  report_replaced(summary.replaced);
  report_kept(summary.kept);
  if (!existed && summary.files == 0) {
    writer.reset();
    io::remove_leftover(command.output);
    notice("nothing to index: none of the files is usable");
    return kUsage;
  }
  const size_t skipped = documents.skipped.size() + summary.skipped.size();
  const std::chrono::duration<double> seconds = Clock::now() - start;
  print_summary(command.output, summary, skipped, seconds.count(), command.json);
  return exit_code(summary.files + summary.removed, skipped + summary.kept.size());
}

int run_merge(const MergeCommand& command) {
  if (command.inputs.empty() || command.output.empty()) {
    notice(
        "index merge: name the indexes to join and the new directory with --output. "
        "See longformer index merge --help.");
    return kUsage;
  }
  const Clock::time_point start = Clock::now();
  ProgressBar bar;
  const std::vector<std::filesystem::path> inputs(command.inputs.begin(), command.inputs.end());
  const tasks::IndexSummary summary = tasks::merge_indexes(inputs, command.output, hooks_of(bar));
  bar.clear();
  const std::chrono::duration<double> seconds = Clock::now() - start;
  print_summary(command.output, summary, 0, seconds.count(), command.json);
  return kDone;
}

CLI::App* add_merge(CLI::App& parent, const std::shared_ptr<MergeCommand>& command) {
  CLI::App* app =
      parent.add_subcommand("merge", "Make one index from several that were built alike");
  app->add_option("indexes", command->inputs, "Directories of indexes")->type_name("INDEX");
  app->add_option("--output", command->output, "New directory to write")->type_name("DIRECTORY");
  app->add_flag("--json", command->json, "The summary as a JSON object; see: schema index");
  return app;
}

}  // namespace

void add_index(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("index", "Build or update an index of documents, for search --index");
  auto command = std::make_shared<IndexCommand>();
  add_task_options(*app, command->task);
  add_prompt_option(*app, "--prompt", tasks::TextRole::kDocument, command->task);
  add_document_options(*app, io::Copies::kOnce, command->documents);
  app->add_option("--output", command->output,
                  "Directory of the index: made, or brought up to date with the files")
      ->type_name("DIRECTORY");
  app->add_option("--context", command->context,
                  "passage: each passage is read alone; document: with the whole document around "
                  "it; both: the mean of the two. Default: as the index has it, else document, or "
                  "passage for a model that pools its first or last token")
      ->check(CLI::IsMember({"passage", "document", "both"}));
  app->add_option("--vectors", command->vectors,
                  "How vectors are stored. Default: as the index has it, else int8")
      ->check(CLI::IsMember({"f32", "f16", "int8"}));
  app->add_option("--dims", command->dims,
                  "Keep the first numbers of each vector only, for models that were trained so")
      ->check(CLI::Range(int64_t{1}, int64_t{65'536}));
  app->add_option("--shard", command->shard,
                  "i/n: take the i-th of n shares of the files; index merge joins them")
      ->type_name("I/N");
  app->add_flag("--rebuild", command->rebuild,
                "Start again instead of updating; the old index stays until the new one is whole");
  app->add_flag("--json", command->json, "Also the summary as a JSON object; see: schema index");
  auto merge = std::make_shared<MergeCommand>();
  CLI::App* merge_app = add_merge(*app, merge);
  commands.add(app, [command, merge, merge_app] {
    return merge_app->parsed() ? run_merge(*merge) : run_index(*command);
  });
}

}  // namespace longformer::cli
