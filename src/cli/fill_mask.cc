// fill-mask: words for the mask tokens of texts.
#include "tasks/fill_mask.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/text_task_options.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

struct FillCommand {
  TextTaskOptions task;
  size_t top_k = 5;
  std::vector<std::string> targets;
};

class Filling {
 public:
  explicit Filling(const FillCommand& command)
      : command_(command),
        run_(command.task, "fill-mask"),
        task_(load_task(command.task, Task::kMaskedLm)),
        mask_(tasks::mask_token(model_directory(command.task.model), task_.model.tokenizer)) {
    std::vector<std::string> shortened;
    targets_ = tasks::target_ids(task_.model.tokenizer, command.targets, shortened);
    if (!shortened.empty()) {
      notice(counted(static_cast<int64_t>(shortened.size()), "target") +
             (shortened.size() == 1 ? " is" : " are") +
             " more than one token: the first stands for the word");
    }
  }

  int run() {
    TaskSteps steps;
    steps.take = [this](TaskInput input) { return take(std::move(input)); };
    steps.compute = [this](const auto& answer) { compute(answer); };
    steps.human = [](const Json& record) { return human(record); };
    return run_.run(steps, task_.model.max_tokens());
  }

 private:
  int64_t take(TaskInput input) {
    tasks::MaskedText text = tasks::cut_masks(task_.model, text_of(command_.task, input), mask_);
    const auto words =
        targets_.empty() ? static_cast<size_t>(task_.model.model.info().outputs) : targets_.size();
    tasks::check_fill_bytes(task_.model, text, std::min(command_.top_k, words));
    texts_.push_back(std::move(text));
    starts_.push_back(input.record_start());
    int64_t tokens = 0;
    for (const tasks::MaskWindow& window : texts_.back().windows) {
      tokens += static_cast<int64_t>(window.tokens.size());
    }
    return tokens;
  }

  void compute(const std::function<void(const TaskAnswer&)>& answer) {
    tasks::fill_masks(
        task_.model, texts_, command_.top_k, targets_, run_.settings(task_),
        [&](size_t index, const tasks::FilledText& result) { answer(answer_of(index, result)); });
    texts_.clear();
    starts_.clear();
  }

  TaskAnswer answer_of(size_t index, const tasks::FilledText& result) const {
    const tasks::MaskedText& text = texts_[index];
    Json masks = Json::array();
    for (const std::vector<tasks::MaskFill>& fills : result.masks) {
      Json list = Json::array();
      for (const tasks::MaskFill& fill : fills) {
        list.push_back({{"score", json_number(fill.score)},
                        {"token", fill.token},
                        {"token_str", fill.token_str},
                        {"sequence", fill.sequence}});
      }
      masks.push_back(std::move(list));
    }
    TaskAnswer answer;
    // A long text is read only around its masks; one window may be all that is.
    answer.windows = static_cast<int64_t>(text.windows.size());
    answer.partly_read = text.partly_read;
    Json record = starts_[index];
    record["masks"] = std::move(masks);
    record["tokens"] = text.tokens;
    record["windows"] = answer.windows;
    record["global_tokens"] = result.global_tokens;
    answer.records.push_back(std::move(record));
    return answer;
  }

  static std::string human(const Json& record) {
    std::string lines;
    const bool several = record["masks"].size() > 1;
    size_t number = 0;
    for (const Json& fills : record["masks"]) {
      if (several)
        lines += (lines.empty() ? "" : "\n") + ("mask " + std::to_string(++number)) + ":";
      for (const Json& fill : fills) {
        lines += (lines.empty() ? "" : "\n") + human_score(fill["score"]) + "  " +
                 printable(fill["token_str"].get<std::string>(), Lines::kJoin);
      }
    }
    return lines;
  }

  const FillCommand& command_;
  TextTaskRun run_;
  LoadedTask task_;
  tasks::MaskToken mask_;
  std::vector<int64_t> targets_;
  std::vector<tasks::MaskedText> texts_;  // taken, not yet computed
  std::vector<Json> starts_;
};

}  // namespace

void add_fill_mask(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "fill-mask", "Words for the mask tokens of texts, by a masked language model");
  auto command = std::make_shared<FillCommand>();
  add_text_task_options(*app, command->task);
  app->add_option("--top-k", command->top_k, "Words for each mask")
      ->check(CLI::Range(size_t{1}, size_t{10'000}))
      ->type_name("K")
      ->capture_default_str();
  app->add_option("--targets", command->targets,
                  "Only these words (repeatable, or several between commas)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("WORD[,WORD...]");
  commands.add(app, [command] { return Filling(*command).run(); });
}

}  // namespace longformer::cli
