// evaluate: predictions against gold labels.
#include "cli/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

struct TaskRow {
  std::string_view name;
  Evaluation (*evaluate)(const EvaluateOptions&);
  std::string_view label_field;       // unless the options name one
  std::string_view prediction_field;  // the same
  std::string_view text_field;        // the same, with --model
};
constexpr TaskRow kTasks[] = {
    {"classification", evaluate_rows, "label", "label", "text"},
    {"multi-label", evaluate_rows, "label", "label", "text"},
    {"regression", evaluate_rows, "label", "label", "text"},
    {"squad", evaluate_answers, "answers", "answer", "context"},
    {"triviaqa", evaluate_answers, "answers", "answer", ""},
    {"entities", evaluate_entities, "tags", "tags", "words"},
    {"ranking", evaluate_ranking, "", "", ""},
    {"mlm", evaluate_rows, "", "log_probability", "text"},
};

// Options that some tasks alone have.
struct OptionTasks {
  const char* option;
  std::vector<std::string_view> tasks;
};
const std::vector<OptionTasks>& option_tasks() {
  static const std::vector<OptionTasks> rows = {
      {"--model", {"classification", "multi-label", "regression", "squad", "entities", "mlm"}},
      {"--max-answer-length", {"squad"}},
      {"--seed", {"mlm"}},
      {"--mask-share", {"mlm"}},
      {"--id-field", {"classification", "multi-label", "regression", "squad", "triviaqa"}},
      {"--label-field",
       {"classification", "multi-label", "regression", "squad", "triviaqa", "entities"}},
      {"--prediction-field",
       {"classification", "multi-label", "regression", "squad", "triviaqa", "entities", "mlm"}},
      {"--separator", {"multi-label"}},
      {"--scheme", {"entities"}},
      {"--label-column", {"entities"}},
      {"--prediction-column", {"entities"}},
      {"--no-answer-probabilities", {"squad"}},
      {"--no-answer-threshold", {"squad"}},
      {"--allow-missing", {"squad", "triviaqa"}},
      {"--cuts", {"ranking"}},
  };
  return rows;
}

const TaskRow& task_row(const std::string& name) {
  return *std::find_if(std::begin(kTasks), std::end(kTasks),
                       [&](const TaskRow& row) { return row.name == name; });
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskRow& row : kTasks) names.emplace_back(row.name);
  return names;
}

// What --data and --predictions are: rows where one of them is, since only rows have named fields.
std::string file_kind(const CLI::App& app, const std::string& task) {
  if (task != "entities" && task != "squad" && task != "triviaqa") return "rows";
  bool rows = false;
  for (const char* const option : {"--data", "--predictions"}) {
    if (app.count(option) == 0) continue;
    const std::string ending =
        std::filesystem::path(app.get_option(option)->as<std::string>()).extension();
    rows = rows || (task == "entities" ? ending == ".jsonl" : ending != ".json");
  }
  if (rows) return "rows";
  return task == "entities" ? "columns" : "an official .json file";
}

void check_options(const CLI::App& app, const std::string& task) {
  for (const auto& [option, tasks] : option_tasks()) {
    if (app.count(option) == 0 || std::find(tasks.begin(), tasks.end(), task) != tasks.end()) {
      continue;
    }
    std::string names;
    for (const std::string_view name : tasks)
      names += (names.empty() ? "" : ", ") + std::string(name);
    throw Error(ErrorCode::kInvalidArgument, "does not go with " + task + ", only with " + names,
                option);
  }
  const bool by_model = app.count("--model") > 0;
  if (by_model == (app.count("--predictions") > 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                "either a file of predictions or the --model that makes them", "--predictions");
  }
  if (!by_model && task == "mlm" && app.count("--data") > 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "is not read with predictions of mlm, which are probabilities of the right tokens",
                "--data");
  }
  if (app.count("--data") == 0 && (by_model || task != "mlm")) {
    throw Error(ErrorCode::kInvalidArgument, "must name the file with the gold labels", "--data");
  }
  const std::string kind = file_kind(app, task);
  for (const char* const option :
       {"--id-field", "--label-field", "--prediction-field", "--text-field"}) {
    if (app.count(option) == 0 || kind == "rows") continue;
    throw Error(ErrorCode::kInvalidArgument, "has no meaning for " + kind, option);
  }
  if (!by_model) return;
  if (task != "squad" && app.count("--id-field") > 0) {
    throw Error(ErrorCode::kInvalidArgument, "pairs records with predictions, not with --model",
                "--id-field");
  }
  for (const char* const option : {"--prediction-field", "--prediction-column",
                                   "--no-answer-probabilities", "--allow-missing"}) {
    if (app.count(option) == 0) continue;
    throw Error(ErrorCode::kInvalidArgument, "belongs to --predictions, not to --model", option);
  }
}

std::string number(const Json& value) {
  if (value.is_null()) return "undefined";
  if (!value.is_number_float()) return value.dump();
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", value.get<double>());
  return text;
}

// A line a measure, then a line a label.
void print_table(const Evaluation& evaluation, Output& output) {
  const auto line = [&](const std::string& name, const std::string& value) {
    output.line(name + std::string(name.size() < 28 ? 28 - name.size() : 1, ' ') + value);
  };
  for (const auto& [name, value] : evaluation.metrics.items()) line(name, number(value));
  line("items", std::to_string(evaluation.items));
  if (evaluation.missing > 0) line("missing", std::to_string(evaluation.missing));
  if (evaluation.labels.empty()) return;
  std::string header = std::string(28, ' ');
  const Json& first = evaluation.labels.begin().value();
  const auto cell = [](const std::string& text) {
    return std::string(text.size() < 11 ? 11 - text.size() : 1, ' ') + text;
  };
  for (const auto& [name, value] : first.items()) header += cell(name);
  output.line(header);
  for (const auto& [label, scores] : evaluation.labels.items()) {
    std::string row = printable(label, Lines::kJoin);
    row += std::string(row.size() < 28 ? 28 - row.size() : 1, ' ');
    for (const auto& [name, value] : scores.items()) row += cell(number(value));
    output.line(row);
  }
}

int run_evaluate(const CLI::App& app, EvaluateOptions options) {
  check_options(app, options.task);
  const TaskRow& row = task_row(options.task);
  if (options.prediction_field.empty()) {
    const bool same = row.prediction_field == row.label_field && !options.label_field.empty();
    options.prediction_field = same ? options.label_field : std::string(row.prediction_field);
  }
  if (options.label_field.empty()) options.label_field = row.label_field;
  if (options.text_field.empty()) options.text_field = row.text_field;
  options.by_model = !options.model.model.empty();
  const Evaluation evaluation = options.by_model ? evaluate_model(options) : row.evaluate(options);
  Output output;
  if (options.json) {
    output.line(json_text({{"task", options.task},
                           {"items", evaluation.items},
                           {"skipped", evaluation.skipped},
                           {"missing", evaluation.missing},
                           {"metrics", evaluation.metrics},
                           {"labels", evaluation.labels}}));
  } else {
    print_table(evaluation, output);
  }
  return evaluation.skipped > 0 ? kSomeSkipped : kDone;
}

}  // namespace

void report_bad(const std::string& file, const std::vector<io::BadRecord>& bad,
                Evaluation& evaluation) {
  std::vector<io::BadRecord> sorted = bad;
  std::sort(sorted.begin(), sorted.end(),
            [](const io::BadRecord& a, const io::BadRecord& b) { return a.line < b.line; });
  for (size_t i = 0; i < std::min(sorted.size(), size_t{kNamedRecords}); ++i) {
    notice(printable(file, Lines::kJoin) + " line " + std::to_string(sorted[i].line) + ": " +
           printable(sorted[i].reason, Lines::kJoin) + "; skipped");
  }
  if (sorted.size() > kNamedRecords) {
    notice(std::to_string(sorted.size() - size_t{kNamedRecords}) + " more records of " +
           printable(file, Lines::kJoin) + " were skipped");
  }
  evaluation.skipped += std::ssize(bad);
}

void add_label(const std::string& name, Json scores, Json& labels) {
  labels.get_ref<Json::object_t&>().emplace_back(name, std::move(scores));
}

void add_evaluate(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("evaluate", "Compare predictions with gold labels");
  auto options = std::make_shared<EvaluateOptions>();
  app->add_option("--task", options->task, "What is predicted")
      ->required()
      ->check(CLI::IsMember(task_names()));
  app->add_option("--data", options->data,
                  "Gold labels: JSON lines, .csv or .tsv; SQuAD or TriviaQA .json; CoNLL columns; "
                  "TREC judgements")
      ->type_name("FILE");
  app->add_option("--predictions", options->predictions, "What was predicted, in the same formats")
      ->type_name("FILE");
  app->add_option(
      "--id-field", options->id_field,
      "Field that pairs records. Default: id where both files have it, else their order");
  app->add_option(
      "--label-field", options->label_field,
      "Field of the gold label. Default: label; entities: tags; squad, triviaqa: answers");
  app->add_option("--prediction-field", options->prediction_field,
                  "Field of the prediction. Default: as --label-field; squad, triviaqa: answer; "
                  "mlm: log_probability");
  app->add_option("--separator", options->separator,
                  "multi-label: what parts several labels in one text")
      ->check([](const std::string& text) { return text.empty() ? "must not be empty" : ""; })
      ->capture_default_str();
  app->add_option("--scheme", options->scheme,
                  "entities: lenient (seqeval's default), or strict IOB1, IOB2, IOE1, IOE2, IOBES, "
                  "BILOU")
      ->capture_default_str();
  app->add_option("--label-column", options->label_column,
                  "entities: column of the gold tag, from 0, or from the end: -1 is the last")
      ->check(CLI::Range(int64_t{-1000}, int64_t{1000}))
      ->capture_default_str();
  app->add_option("--prediction-column", options->prediction_column,
                  "entities: column of the predicted tag")
      ->check(CLI::Range(int64_t{-1000}, int64_t{1000}))
      ->capture_default_str();
  app->add_option("--no-answer-probabilities", options->no_answer_probabilities,
                  "squad: a JSON object of the probability that a question has no answer, by id")
      ->type_name("FILE");
  app->add_option("--no-answer-threshold", options->no_answer_threshold,
                  "squad: above this probability a prediction counts as no answer; default 1")
      ->check(finite_number())
      ->capture_default_str();
  app->add_flag("--allow-missing", options->allow_missing,
                "squad, triviaqa: questions without a prediction count as wrong");
  app->add_option("--cuts", options->cuts, "ranking: depths of nDCG, recall, precision, MAP, MRR")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  add_model_options(*app, options->model);
  CLI::Option* const model = app->get_option("--model");
  model->description("Directory or name of a model whose predictions are measured");
  add_load_options(*app, options->overrides);
  app->add_option(
         "--text-field", options->text_field,
         "With --model: field of the text to read. Default: text; squad: context; entities: "
         "words")
      ->type_name("TEXT");
  app->add_option("--max-answer-length", options->max_answer_length,
                  "squad with --model: tokens of an answer at most")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000}))
      ->capture_default_str();
  app->add_option("--seed", options->seed, "mlm with --model: of the choice of hidden tokens")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--mask-share", options->mask_share,
                  "mlm with --model: share of the tokens that are hidden")
      ->check(numbers_in(0.001, 1.0))
      ->capture_default_str();
  for (const char* const of_model :
       {"--revision", "--offline", "--threads", "--attention-window", "--attention-dilation",
        "--max-tokens", "--positions", "--compute", "--check-tensors", "--text-field",
        "--max-answer-length", "--seed", "--mask-share"}) {
    app->get_option(of_model)->needs(model);
  }
  app->add_flag("--json", options->json, "One JSON object; see: schema evaluate");
  commands.add(app, [app, options] { return run_evaluate(*app, *options); });
}

}  // namespace longformer::cli
