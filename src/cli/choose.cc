// choose: which of several choices goes with a context.
#include "tasks/choose.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/text_task_options.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

constexpr size_t kMaxChoices = 1000;

struct ChooseCommand {
  TextTaskOptions task;
  std::string question_field = "question";
  std::string choices_field = "choices";
  std::string question;
  std::vector<std::string> choices;
  std::string long_text = "truncate";
};

class Choosing {
 public:
  explicit Choosing(const ChooseCommand& command)
      : command_(command),
        run_(command.task, "choose"),
        task_(load_task(command.task, Task::kMultipleChoice)) {}

  int run() {
    TaskSteps steps;
    steps.take = [this](TaskInput input) { return take(std::move(input)); };
    steps.compute = [this](const auto& answer) { compute(answer); };
    steps.human = [this](const Json& record) { return human(record); };
    return run_.run(steps, task_.model.max_tokens());
  }

 private:
  // A line has a context, or a question, or both.
  tasks::ChoiceQuestion question_of_line(const Json& record) const {
    tasks::ChoiceQuestion question;
    const bool has_question = record.contains(command_.question_field);
    if (record.contains(command_.task.field) || !has_question) {
      question.context = text_field(record, command_.task.field);
    }
    if (has_question) question.question = text_field(record, command_.question_field);
    const auto choices = record.find(command_.choices_field);
    if (choices == record.end()) {
      question.choices = command_.choices;
      if (question.choices.empty())
        text_field(record, command_.choices_field);  // says what is there
      return question;
    }
    const bool strings =
        choices->is_array() && std::all_of(choices->begin(), choices->end(),
                                           [](const Json& value) { return value.is_string(); });
    if (!strings || choices->size() > kMaxChoices) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the choices must be a list of strings, at most " + std::to_string(kMaxChoices));
    }
    question.choices = choices->get<std::vector<std::string>>();
    return question;
  }

  int64_t take(TaskInput input) {
    tasks::ChoiceQuestion question =
        input.line
            ? question_of_line(input.record)
            : tasks::ChoiceQuestion{input.document.text, command_.question, command_.choices};
    questions_.push_back(tasks::cut_choices(
        task_.model, question,
        command_.long_text == "error" ? tasks::LongText::kRefuse : tasks::LongText::kTruncate));
    choices_.push_back(std::move(question.choices));
    starts_.push_back(input.record_start());
    int64_t tokens = 0;
    for (const tasks::CutText& pair : questions_.back()) {
      tokens += static_cast<int64_t>(pair.windows[0].size());
    }
    return tokens;
  }

  void compute(const std::function<void(const TaskAnswer&)>& answer) {
    tasks::choose(
        task_.model, questions_, run_.settings(task_),
        [&](size_t index, const tasks::Choice& result) { answer(answer_of(index, result)); });
    questions_.clear();
    choices_.clear();
    starts_.clear();
  }

  TaskAnswer answer_of(size_t index, const tasks::Choice& result) {
    TaskAnswer answer;
    int64_t tokens = 0;
    for (const tasks::CutText& pair : questions_[index]) {
      tokens = std::max(tokens, pair.tokens);
      answer.truncated_tokens = std::max(answer.truncated_tokens, pair.truncated_tokens);
    }
    Json scores = Json::array();
    for (const double score : result.scores) scores.push_back(json_number(score));
    shown_ = &choices_[index];
    Json record = starts_[index];
    record["choice"] = result.best;
    record["text"] = choices_[index][result.best];
    record["score"] = scores[result.best];
    record["scores"] = std::move(scores);
    record["tokens"] = tokens;
    record["truncated_tokens"] = answer.truncated_tokens;
    record["global_tokens"] = result.global_tokens;
    answer.records.push_back(std::move(record));
    return answer;
  }

  // All choices, best first.
  std::string human(const Json& record) const {
    const Json& scores = record["scores"];
    std::vector<size_t> order(scores.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return scores[a].get<double>() > scores[b].get<double>();
    });
    std::string lines;
    for (const size_t i : order) {
      lines += (lines.empty() ? "" : "\n") + human_score(scores[i]) + "  " +
               printable((*shown_)[i], Lines::kJoin);
    }
    return lines;
  }

  const ChooseCommand& command_;
  TextTaskRun run_;
  LoadedTask task_;
  std::vector<std::vector<tasks::CutText>> questions_;  // taken, not yet computed
  std::vector<std::vector<std::string>> choices_;
  std::vector<Json> starts_;
  const std::vector<std::string>* shown_ = nullptr;  // choices of the record that is printed
};

int run_choose(const ChooseCommand& command) {
  if (command.task.input.empty() && command.choices.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "name at least one --choice, or lines with a list of choices by --input");
  }
  return Choosing(command).run();
}

}  // namespace

void add_choose(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "choose", "Which of several choices goes with a text, by a model for multiple choice");
  auto command = std::make_shared<ChooseCommand>();
  command->task.field = "context";
  add_text_task_options(*app, command->task);
  app->add_option("--choice", command->choices,
                  "A choice (repeatable); with --input for lines that have none of their own")
      ->allow_extra_args(false)
      ->expected(1, static_cast<int>(kMaxChoices))
      ->type_name("TEXT");
  app->add_option("--question", command->question,
                  "A question about --text or the files; stands in front of each choice")
      ->excludes("--input")
      ->type_name("TEXT");
  app->add_option("--question-field", command->question_field,
                  "With --input: the field that holds the question")
      ->needs("--input")
      ->capture_default_str();
  app->add_option("--choices-field", command->choices_field,
                  "With --input: the field that holds the list of choices")
      ->needs("--input")
      ->capture_default_str();
  app->add_option("--long", command->long_text,
                  "Contexts that are longer than the model reads: cut off, or skipped")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str();
  commands.add(app, [command] { return run_choose(*command); });
}

}  // namespace longformer::cli
