// train: masked language models and heads, on files, with checkpoints that a power cut cannot
// spoil.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/thread_pool.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/train_cost.h"
#include "cli/train_options.h"
#include "cli/train_setup.h"
#include "models/memory_need.h"
#include "train/trainer.h"
#include "train/trials.h"

namespace longformer::cli {
namespace {

using train::Ending;

Json json_of(const train::LogRecord& record) {
  return {{"step", record.step},
          {"steps", record.total_steps},
          {"epoch", record.epoch},
          {"loss", json_number(record.loss)},
          {"grad_norm", json_number(record.grad_norm)},
          {"learning_rate", record.learning_rate},
          {"tokens", record.tokens},
          {"tokens_per_second", json_number(record.tokens_per_second)},
          {"seconds", record.seconds}};
}

Json json_of(const std::map<std::string, double>& metrics) {
  Json object = Json::object();
  for (const auto& [name, value] : metrics) object[name] = json_number(value);
  return object;
}

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::kFinished:
      return "finished";
    case Ending::kStoppedEarly:
      return "stopped early";
    case Ending::kInterrupted:
      return "interrupted";
    default:
      return "diverged";
  }
}

std::string number(double value, const char* format = "%.4g") {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

class Training {
 public:
  explicit Training(const TrainCommand& command)
      : command_(command), options_(training_options(command)), setup_(command, options_) {}

  int run() {
    plan_memory();
    if (options_.overfit_one_batch > 0) return overfit();
    if (options_.find_learning_rate > 0) return find_rate();
    speed_.emplace(setup_.task(), options_);
    if (const double gain = speed_->gain_over_f32(); gain < 0.9) {
      notice("--bf16 true saves memory here but no time: this processor multiplies bfloat16 at " +
             number(100 * gain, "%.0f") + " % of the speed of f32");
    }
    const GracefulStop stop;
    train::TrainerSettings settings;
    settings.options = options_;
    settings.directory = command_.output;
    settings.start = command_.resume ? train::RunStart::kContinue : train::RunStart::kNew;
    settings.stop = [&] { return stop.signal() != 0; };
    settings.evaluation_metrics = setup_.metrics();
    settings.version = LONGFORMER_VERSION;
    settings.listener = listener();
    const train::TrainingResult result =
        train::train(setup_.task(), settings, *setup_.task().model().pool());
    bar_.clear();
    return finish(result, stop.signal());
  }

 private:
  // Said before the first step, and refused where there is not as much.
  void plan_memory() {
    const TrainingMemory memory = training_memory(setup_.task(), options_);
    const double gib = 1024.0 * 1024.0 * 1024.0;
    const auto trained = setup_.task().parameters().trained_elements();
    notice("memory: " + number(static_cast<double>(memory.parameters) / gib, "%.2f") + " GiB for " +
           std::to_string(trained) + " trained of " +
           std::to_string(setup_.task().parameters().elements()) + " parameters, " +
           number(static_cast<double>(memory.batch) / gib, "%.2f") + " GiB for a batch of " +
           std::to_string(memory.batch_tokens) + " tokens");
    // The values are there already, the optimizer's memory and the batch are not.
    const uint64_t values = static_cast<uint64_t>(setup_.task().parameters().elements()) * 4;
    check_room(memory.parameters - values + memory.batch, 0, "a step of training needs",
               "take --gradient-checkpointing true, a smaller batch with more "
               "--gradient-accumulation-steps, or a smaller --max-length");
  }

  int overfit() {
    const GracefulStop stop;
    const train::OverfitResult result = train::overfit_one_batch(
        setup_.task(), options_, [&] { return stop.signal() != 0; }, *setup_.task().model().pool());
    using Verdict = train::OverfitResult::Verdict;
    const bool learnt = result.verdict == Verdict::kLearnt;
    if (command_.json) {
      output_.line(json_text({{"learnt", learnt},
                              {"steps", result.steps},
                              {"first_loss", json_number(result.first_loss)},
                              {"last_loss", json_number(result.last_loss)}}));
    } else {
      output_.line(std::string("one batch ") + (learnt ? "was" : "was not") +
                   " learnt by heart: loss " + number(result.first_loss) + " to " +
                   number(result.last_loss) + " in " + counted(result.steps, "step"));
    }
    if (result.verdict == Verdict::kStopped) return 128 + stop.signal();
    return learnt ? kDone : kFailed;
  }

  int find_rate() {
    const GracefulStop stop;
    const train::LearningRateSearch result = train::find_learning_rate(
        setup_.task(), options_, [&] { return stop.signal() != 0; }, *setup_.task().model().pool());
    for (const train::LearningRatePoint& point : result.points) {
      if (command_.json) {
        output_.line(json_text({{"learning_rate", point.learning_rate},
                                {"loss", json_number(point.loss)},
                                {"smoothed", json_number(point.smoothed)}}));
      } else {
        output_.line(number(point.learning_rate, "%10.2e") + "  loss " + number(point.loss) +
                     "  smoothed " + number(point.smoothed));
      }
    }
    if (stop.signal() != 0) return 128 + stop.signal();
    if (command_.json) output_.line(json_text({{"suggested", result.suggested}}));
    if (!command_.json) {
      output_.line(result.suggested > 0
                       ? "the loss falls fastest at a learning rate of " + number(result.suggested)
                       : "the loss never fell; look at the data and the labels");
    }
    return result.suggested > 0 ? kDone : kFailed;
  }

  train::TrainerListener listener() {
    train::TrainerListener listener;
    listener.stepped = [this](int64_t step, int64_t total) {
      if (total > 0) bar_.update(static_cast<double>(step) / static_cast<double>(total), note_);
    };
    listener.logged = [this](const train::LogRecord& record) { logged(record); };
    listener.evaluated = [this](const train::EvaluationRecord& record) {
      bar_.clear();
      if (command_.json) {
        output_.line(json_text({{"step", record.step},
                                {"epoch", record.epoch},
                                {"evaluation", json_of(record.metrics)},
                                {"best", record.best == train::BestSoFar::kYes}}));
        return;
      }
      std::string line = "step " + std::to_string(record.step) + "  evaluation";
      for (const auto& [name, value] : record.metrics) line += "  " + name + " " + number(value);
      output_.line(line);
    };
    listener.notice = [this](const std::string& message) {
      bar_.clear();
      notice(message);
    };
    return listener;
  }

  void logged(const train::LogRecord& record) {
    const double share = speed_->share_of_peak(record.tokens_per_second);
    const std::string speed = number(record.tokens_per_second, "%.0f") + " tokens/s, " +
                              number(100 * share, "%.0f") + " % of peak";
    note_ = "loss " + number(record.loss) + ", " + speed;
    if (command_.json) {
      Json line = json_of(record);
      line["share_of_peak"] = json_number(share);
      output_.line(json_text(line));
      output_.flush();
      return;
    }
    if (bar_.visible()) return;
    output_.line("step " + std::to_string(record.step) + "/" + std::to_string(record.total_steps) +
                 "  loss " + number(record.loss) + "  learning rate " +
                 number(record.learning_rate) + "  norm " + number(record.grad_norm) + "  " +
                 speed);
    output_.flush();
  }

  int finish(const train::TrainingResult& result, int signal) {
    if (command_.json) {
      Json record = {{"ending", ending_name(result.ending)},
                     {"step", result.step},
                     {"steps", result.total_steps},
                     {"loss", json_number(result.loss)},
                     {"metrics", json_of(result.metrics)},
                     {"tokens", result.tokens},
                     {"seconds", result.seconds}};
      record["best_step"] = result.best ? Json(result.best->step) : Json(nullptr);
      record["model"] = result.model.empty() ? Json(nullptr) : Json(result.model.string());
      output_.line(json_text(record));
    } else {
      std::string line =
          std::string(ending_name(result.ending)) + " after " + counted(result.step, "step");
      if (!result.reason.empty()) line += ": " + result.reason;
      if (!result.model.empty()) line += "; the model is in " + result.model.string();
      output_.line(line);
    }
    switch (result.ending) {
      case Ending::kInterrupted:
        notice("go on with --resume true");
        return 128 + signal;
      case Ending::kDiverged:
        return kFailed;
      default:
        return setup_.skipped() > 0 ? kSomeSkipped : kDone;
    }
  }

  const TrainCommand& command_;
  const train::TrainingOptions options_;
  TrainSetup setup_;
  Output output_;
  std::optional<TrainingSpeed> speed_;
  ProgressBar bar_;
  std::string note_;
};

void add_task(CLI::App& train, Commands& commands, const char* name, Task task, const char* help) {
  CLI::App* app = train.add_subcommand(name, help);
  auto command = std::make_shared<TrainCommand>();
  command->task = task;
  add_train_options(*app, *command);
  commands.add(app, [command] { return Training(*command).run(); });
}

}  // namespace

void add_train(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "train", "Train a masked language model or a head; docs/training.md has recipes");
  app->require_subcommand(1);
  add_task(*app, commands, "mlm", Task::kMaskedLm,
           "Go on with the pretraining of a masked language model on running text");
  add_task(*app, commands, "classify", Task::kSequenceClassification,
           "Texts, or pairs of texts, with labels");
  add_task(*app, commands, "tag", Task::kTokenClassification, "Words or spans of text with labels");
  add_task(*app, commands, "answer", Task::kQuestionAnswering,
           "Questions whose answers stand in a text");
  add_task(*app, commands, "choose", Task::kMultipleChoice,
           "Questions with several choices, one of them right");
}

}  // namespace longformer::cli
