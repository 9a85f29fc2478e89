// classify: the labels of texts or pairs of texts.
#include "tasks/classify.h"

#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/text_task_options.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

using tasks::LongText;
using tasks::ScoreFunction;

const std::map<std::string, ScoreFunction> kFunctions = {{"softmax", ScoreFunction::kSoftmax},
                                                         {"sigmoid", ScoreFunction::kSigmoid},
                                                         {"none", ScoreFunction::kNone}};
const std::map<std::string, LongText> kLongTexts = {{"windows", LongText::kWindows},
                                                    {"truncate", LongText::kTruncate},
                                                    {"error", LongText::kRefuse}};

struct ClassifyCommand {
  TextTaskOptions task;
  std::string pair_field = "text_pair";
  bool pair_field_given = false;
  std::optional<std::string> text_pair;
  std::string function;  // empty: the model's
  std::string long_text = "windows";
  std::optional<size_t> top_k;
  std::optional<double> threshold;
};

class Classifying {
 public:
  explicit Classifying(const ClassifyCommand& command)
      : command_(command),
        run_(command.task, "classify"),
        task_(load_task(command.task, Task::kSequenceClassification)),
        function_(command.function.empty() ? tasks::default_function(info())
                                           : kFunctions.at(command.function)) {}

  int run() {
    TaskSteps steps;
    steps.take = [this](TaskInput input) { return take(std::move(input)); };
    steps.compute = [this](const auto& answer) { compute(answer); };
    steps.human = [](const Json& record) { return human(record); };
    return run_.run(steps, task_.model.max_tokens());
  }

 private:
  const TaskInfo& info() const { return task_.model.model.info(); }

  std::optional<std::string> second_of(const TaskInput& input) const {
    if (!input.line) return command_.text_pair;
    // Where nobody named the field, a line may do without.
    if (!command_.pair_field_given && !input.record.contains(command_.pair_field)) return {};
    return text_field(input.record, command_.pair_field);
  }

  int64_t take(TaskInput input) {
    texts_.push_back(tasks::cut_text(task_.model, text_of(command_.task, input), second_of(input),
                                     kLongTexts.at(command_.long_text)));
    starts_.push_back(input.record_start());
    int64_t tokens = 0;
    for (const text::Encoding& window : texts_.back().windows) {
      tokens += static_cast<int64_t>(window.size());
    }
    return tokens;
  }

  void compute(const std::function<void(const TaskAnswer&)>& answer) {
    tasks::classify(task_.model, texts_, function_, run_.settings(task_),
                    [&](size_t index, const tasks::Classification& result) {
                      answer(answer_of(index, result));
                    });
    texts_.clear();
    starts_.clear();
  }

  TaskAnswer answer_of(size_t index, const tasks::Classification& result) const {
    const tasks::CutText& text = texts_[index];
    // One label, unless a threshold says how many.
    const size_t count = command_.top_k.value_or(command_.threshold ? 0 : 1);
    const std::vector<tasks::LabelScore> best =
        tasks::best_labels(result.scores, count,
                           command_.threshold.value_or(-std::numeric_limits<double>::infinity()));
    Json scores = Json::array();
    for (const tasks::LabelScore& one : best) {
      scores.push_back({{"label", info().labels[one.label]}, {"score", json_number(one.score)}});
    }
    TaskAnswer answer;
    answer.windows = static_cast<int64_t>(text.windows.size());
    answer.truncated_tokens = text.truncated_tokens;
    Json record = starts_[index];
    record["label"] = best.empty() ? Json(nullptr) : scores[0]["label"];
    record["score"] = best.empty() ? Json(nullptr) : scores[0]["score"];
    record["scores"] = std::move(scores);
    record["tokens"] = text.tokens;
    record["windows"] = answer.windows;
    record["truncated_tokens"] = text.truncated_tokens;
    record["global_tokens"] = result.global_tokens;
    answer.records.push_back(std::move(record));
    return answer;
  }

  static std::string human(const Json& record) {
    if (record["scores"].empty()) return "no label reaches the threshold";
    std::string lines;
    for (const Json& one : record["scores"]) {
      lines += (lines.empty() ? "" : "\n") + human_score(one["score"]) + "  " +
               printable(one["label"].get<std::string>(), Lines::kJoin);
    }
    return lines;
  }

  const ClassifyCommand& command_;
  TextTaskRun run_;
  LoadedTask task_;
  ScoreFunction function_;
  std::vector<tasks::CutText> texts_;  // taken, not yet computed
  std::vector<Json> starts_;
};

std::vector<std::string> names_of(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

}  // namespace

void add_classify(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("classify", "Labels of texts, by a sequence classifier");
  auto command = std::make_shared<ClassifyCommand>();
  add_text_task_options(*app, command->task);
  CLI::Option* const pair_field =
      app->add_option("--pair-field", command->pair_field,
                      "With --input: the field that holds the second text of a pair; when not "
                      "named, lines without it are single texts")
          ->needs("--input")
          ->capture_default_str();
  app->add_option("--text-pair", command->text_pair,
                  "A second text, for --text or for each of the files")
      ->excludes("--input")
      ->type_name("TEXT");
  app->add_option(
         "--function", command->function,
         "What makes scores of logits; default: none for a regression, sigmoid for several "
         "labels at once or a single one, else softmax")
      ->check(CLI::IsMember(names_of(kFunctions)));
  app->add_option("--top-k", command->top_k,
                  "Labels of a text, best first; 0: all. Default: 1, or with --threshold all that "
                  "reach it")
      ->check(CLI::Range(int64_t{0}, kMaxSequence))
      ->type_name("K");
  app->add_option("--threshold", command->threshold, "Leave out labels with a lower score")
      ->check(finite_number())
      ->type_name("SCORE");
  app->add_option("--long", command->long_text,
                  "Texts that are longer than the model reads: read in overlapping windows, whose "
                  "scores are averaged; cut off; or skipped")
      ->check(CLI::IsMember(names_of(kLongTexts)))
      ->capture_default_str();
  commands.add(app, [command, pair_field] {
    command->pair_field_given = pair_field->count() > 0;
    return Classifying(*command).run();
  });
}

}  // namespace longformer::cli
