// search: passages of long documents, ranked by how much they are like the query.
#include "tasks/search.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/task_options.h"

namespace longformer::cli {
namespace {

constexpr size_t kShownBytes = 4000;  // of a passage, for a reader
const std::string kIndent = "    ";
const std::string kBold = "\x1b[1m";
const std::string kPlain = "\x1b[0m";

struct SearchCommand {
  TaskOptions task;
  std::string query;
  std::string context{tasks::context_name(tasks::kDefaultContext)};
  int64_t top = tasks::kDefaultTop;
  double min_score = -1;
  bool json = false;
};

std::string json_record(int64_t rank, const tasks::SearchResult& result) {
  const Json record = {{"rank", rank},
                       {"score", result.score},
                       {"file", result.file},
                       {"line_start", result.line_start},
                       {"line_end", result.line_end},
                       {"byte_start", result.byte_start},
                       {"byte_end", result.byte_end},
                       {"passage", result.passage},
                       {"best_sentence", result.best_sentence}};
  return json_text(record);
}

// The largest character border of `text` at or before `limit`.
size_t character_border(std::string_view text, size_t limit) {
  if (limit >= text.size()) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

// Blanks at the beginning of each line but the first that all of them share; the first line has
// none of its own.
size_t shared_indent(const std::string& text) {
  size_t shared = std::string::npos;
  for (size_t line = text.find('\n'); line != std::string::npos; line = text.find('\n', line + 1)) {
    const size_t first = text.find_first_not_of(' ', line + 1);
    if (first == std::string::npos || text[first] == '\n') continue;
    shared = std::min(shared, first - line - 1);
  }
  return shared == std::string::npos ? 0 : shared;
}

// The passage, line by line and indented, with its best sentence in bold where `bold`.
std::string human_passage(const tasks::SearchResult& result, bool bold) {
  const std::string_view passage = result.passage;
  const size_t best_begin = static_cast<size_t>(result.best_sentence_start);
  const size_t best_end = static_cast<size_t>(result.best_sentence_end);
  const size_t indent = shared_indent(result.passage);
  const auto part = [&](size_t begin, size_t end) {
    return begin < end ? printable(passage.substr(begin, end - begin), Lines::kJoin)
                       : std::string();
  };
  std::string shown;
  for (size_t begin = 0; begin < passage.size();) {
    size_t end = std::min(passage.find('\n', begin), passage.size());
    const size_t next = end + 1;
    if (begin > 0 && end - begin >= indent) begin += indent;
    const bool cut = shown.size() + (end - begin) > kShownBytes;
    if (cut)
      end = begin + character_border(passage.substr(begin),
                                     kShownBytes - std::min(shown.size(), kShownBytes));
    const std::string best = part(std::max(begin, best_begin), std::min(end, best_end));
    if (begin < end) shown += kIndent;
    shown += part(begin, std::min(end, best_begin));
    shown += bold && !best.empty() ? kBold + best + kPlain : best;
    shown += part(std::max(begin, best_end), end);
    if (cut) return shown + " [...]";
    if (next < passage.size()) shown += '\n';
    begin = next;
  }
  return shown;
}

std::string human_record(const tasks::SearchResult& result, bool bold) {
  char score[32];
  std::snprintf(score, sizeof score, "%.3f",
                std::round(result.score * 1000) / 1000 + 0.0);  // never -0.000
  std::string place =
      printable(result.file, Lines::kJoin) + ":" + std::to_string(result.line_start);
  if (result.line_end > result.line_start) place += "-" + std::to_string(result.line_end);
  return std::string(score) + "  " + place + "\n" + human_passage(result, bold) + "\n";
}

void print_results(const std::vector<tasks::SearchResult>& results, bool json) {
  Output output;
  const bool bold = takes_escapes(STDOUT_FILENO);
  int64_t rank = 0;
  for (const tasks::SearchResult& result : results) {
    output.line(json ? json_record(++rank, result) : human_record(result, bold));
  }
  output.flush();
}

int run_search(const SearchCommand& command) {
  const io::DocumentList documents = find_documents(command.task.files, io::Copies::kOnce);
  if (documents.names.empty()) {
    notice("nothing to search: none of the files is usable");
    return kUsage;
  }
  tasks::TextModel model = load_model(command.task);
  ProgressBar bar;
  tasks::SearchOptions options;
  options.context = *tasks::context_from_name(command.context);
  options.top = command.top;
  options.min_score = command.min_score;
  options.passages = tasks::passage_options(model, command.task.passage_tokens);
  if (bar.visible()) {
    options.progress = [&](const tasks::SearchProgress& progress) { bar.update(progress.share); };
  }
  tasks::Search search(model, command.query, options);
  search.add_files(documents.names);
  bar.clear();

  const tasks::SearchSummary& summary = search.summary();
  report_skipped(summary.skipped);
  if (summary.query_windows > 1) {
    notice("the query is longer than the model reads at once: read in " +
           std::to_string(summary.query_windows) + " overlapping windows");
  }
  report_windows(summary.documents, summary.windowed, model.capacity());
  if (summary.query_unreadable) report_unreadable({"the query"});
  report_unreadable(summary.unreadable);
  report_replaced(summary.replaced);
  print_results(search.results(), command.json);
  const int code = exit_code(summary.documents, documents.skipped.size() + summary.skipped.size());
  if (summary.documents == 0) {
    notice("nothing to search: none of the files is usable");
  } else if (search.results().empty()) {
    notice("nothing found in " + counted(summary.documents, "document"));
  }
  return code == kDone && search.results().empty() ? kNothingFound : code;
}

}  // namespace

void add_search(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "search", "Find the passages of long documents that are most like a query");
  auto command = std::make_shared<SearchCommand>();
  app->add_option("query", command->query, "What to look for, in plain words")
      ->required()
      ->type_name("QUERY");
  add_task_options(*app, command->task);
  app->add_option("--context", command->context,
                  "passage: each passage is read alone; document: with the whole document around "
                  "it; both: the mean of "
                  "the two scores")
      ->check(CLI::IsMember({"passage", "document", "both"}))
      ->capture_default_str();
  app->add_option("--top", command->top, "Number of passages to show")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  app->add_option("--min-score", command->min_score,
                  "Show only passages with at least this score, -1 to 1")
      ->check(CLI::Range(-1.0, 1.0));
  app->add_flag("--json", command->json,
                "One JSON object a line: rank, score, file, line_start, line_end, byte_start, "
                "byte_end, passage, "
                "best_sentence");
  commands.add(app, [command] { return run_search(*command); });
}

}  // namespace longformer::cli
