#include "cli/train_options.h"

#include <limits>

#include "base/limits.h"
#include "cli/head_options.h"

namespace longformer::cli {
namespace {

void add_data_options(CLI::App& app, TrainCommand& command) {
  app.add_option("FILES", command.files, "Files, directories or patterns to train on")->required();
  app.add_option("--eval", command.evaluation_files, "Files to evaluate on");
  app.add_option("--eval-share", command.evaluation_share,
                 "Share of FILES' records that is kept for evaluation instead of trained on")
      ->check(numbers_in(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--group-by", command.group_field,
                 "Field whose equal values stay together on one side of the split, as all records "
                 "of one patient do");
  app.add_option("--split-seed", command.split_seed, "Of the split")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->type_name("UINT")
      ->capture_default_str();
  app.add_option("--max-length", command.max_length,
                 "Tokens of a sequence, special tokens included; default: what the model reads")
      ->check(CLI::Range(int64_t{4}, kMaxSequence))
      ->type_name("N");
  if (command.task != Task::kMaskedLm) {
    app.add_option("--long", command.long_text, "What happens to longer texts")
        ->check(CLI::IsMember({"windows", "truncate", "error"}));
    app.add_option("--stride", command.stride, "Tokens that windows share")
        ->check(CLI::Range(int64_t{0}, kMaxSequence));
    add_global_option(app, command.global);
  }
  add_boolean(app, "--skip-bad", command.skip_bad,
              "Leave out records that cannot be used, and count them, instead of stopping");
}

void add_mlm_options(CLI::App& app, TrainCommand& command) {
  app.add_option("--to-long", command.to_long,
                 "Make a model that reads so many tokens of a short BERT or RoBERTa first, in "
                 "OUTPUT/start")
      ->check(CLI::Range(int64_t{16}, kMaxSequence))
      ->type_name("N");
  app.add_option("--long-window", command.long_window,
                 "Attention window of that model, both sides together")
      ->check(CLI::Range(int64_t{2}, kMaxWindow))
      ->needs("--to-long")
      ->capture_default_str();
  app.add_option("--new-positions", command.new_positions,
                 "Its positions: copies of the short model's, or random numbers")
      ->check(CLI::IsMember({"copy", "random"}))
      ->needs("--to-long")
      ->capture_default_str();
  app.add_option("--text-field", command.mlm.text, "Of rows (.jsonl, .csv, .tsv)")
      ->capture_default_str();
  add_boolean(app, "--one-per-line", command.one_per_line,
              "Each line of a plain text file is a document");
  app.add_option("--packing", command.packing,
                 "fill: sequences are full, documents go on in the next one; whole: a document "
                 "that fits is not cut")
      ->check(CLI::IsMember({"fill", "whole"}))
      ->capture_default_str();
  app.add_option("--min-tokens", command.mlm.min_tokens,
                 "Sequences with fewer tokens of text are left out")
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->capture_default_str();
  app.add_option("--mlm-probability", command.mlm.mlm_probability, "Share of tokens to hide")
      ->check(numbers_in(0.001, 1.0))
      ->capture_default_str();
}

void add_label_options(CLI::App& app, TrainCommand& command) {
  app.add_option("--labels", command.labels_from,
                 "Whose labels the head has: data's, the model's; auto: the model's where it was "
                 "trained for this task")
      ->check(CLI::IsMember({"auto", "data", "model"}))
      ->capture_default_str();
}

void add_classify_options(CLI::App& app, TrainCommand& command) {
  add_label_options(app, command);
  app.add_option("--problem-type", command.problem_type,
                 "What labels mean; default: as the model says, else single_label_classification")
      ->check(CLI::IsMember(
          {"single_label_classification", "multi_label_classification", "regression"}));
  app.add_option("--text-field", command.classify.text)->capture_default_str();
  app.add_option("--pair-field", command.classify.pair)->capture_default_str();
  app.add_option("--label-field", command.classify.label)->capture_default_str();
  app.add_option("--label-separator", command.classify.separator,
                 "Between several labels in one cell")
      ->capture_default_str();
}

void add_tag_options(CLI::App& app, TrainCommand& command) {
  add_label_options(app, command);
  app.add_option("--column", command.tag.column,
                 "Of the tags in CoNLL files, from 0; from the end: -1 is the last")
      ->capture_default_str();
  app.add_option("--words-field", command.tag.words)->capture_default_str();
  app.add_option("--tags-field", command.tag.tags)->capture_default_str();
  app.add_option("--text-field", command.tag.text)->capture_default_str();
  app.add_option("--spans-field", command.tag.spans)->capture_default_str();
  add_boolean(app, "--label-all-tokens", command.label_all_tokens,
              "Tokens behind a word's first one learn its tag, too");
}

void add_answer_options(CLI::App& app, TrainCommand& command) {
  app.add_option("--question-field", command.answer.fields.question)->capture_default_str();
  app.add_option("--context-field", command.answer.fields.context)->capture_default_str();
  app.add_option("--answers-field", command.answer.fields.answers)->capture_default_str();
  add_boolean(app, "--drop-unanswered", command.drop_unanswered,
              "Leave out windows without an answer, instead of teaching that there is none");
}

void add_choose_options(CLI::App& app, TrainCommand& command) {
  app.add_option("--context-field", command.choose.context)->capture_default_str();
  app.add_option("--question-field", command.choose.question)->capture_default_str();
  app.add_option("--choices-field", command.choose.choices)->capture_default_str();
  app.add_option("--label-field", command.choose.label)->capture_default_str();
}

std::string values_of(const train::OptionEntry& entry) {
  if (entry.is_boolean()) return "true|false";
  std::string values;
  for (const std::string_view choice : entry.choices) {
    values += (values.empty() ? "" : "|") + std::string(choice);
  }
  return values.empty() ? "VALUE" : values;
}

void add_training_options(CLI::App& app, TrainCommand& command) {
  app.add_option("--options", command.options_file,
                 "JSON file with training options; flags come before it")
      ->check(not_empty());
  for (const train::OptionEntry& entry : train::option_table()) {
    app.add_option(entry.flag(), command.flags[std::string(entry.name)],
                   std::string(entry.help) +
                       "; default: " + train::option_text(train::TrainingOptions{}, entry))
        ->check(not_empty())
        ->type_name(values_of(entry))
        ->group("Training");
  }
  app.add_option("--train", command.trained,
                 "What is trained: all; head: nothing of the encoder; positions: the position "
                 "table alone")
      ->check(CLI::IsMember({"all", "head", "positions"}))
      ->capture_default_str();
  add_boolean(app, "--from-scratch", command.from_scratch,
              "Begin with new weights, as --seed and initializer_range of config.json draw them: "
              "--model needs no weights, and those that it has are not read");
  app.add_option("--freeze-layers", command.freeze_layers,
                 "Layers from the bottom that stay as they are, and the embeddings with them")
      ->check(CLI::Range(int64_t{0}, int64_t{1024}))
      ->capture_default_str();
}

}  // namespace

void add_train_options(CLI::App& app, TrainCommand& command) {
  add_model_options(app, command.model);
  app.add_option("--output", command.output, "Directory of the run: checkpoints, logs, the model")
      ->required();
  add_boolean(app, "--resume", command.resume,
              "Go on with the run in OUTPUT where its last checkpoint stands");
  add_boolean(app, "--json", command.json, "Print log lines and the result as JSON lines");
  app.add_option("--attention-window", command.overrides.attention_window,
                 "Attention window instead of the model's: one width, or one a layer")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{0}, kMaxWindow))
      ->type_name("W[,W...]");
  add_data_options(app, command);
  switch (command.task) {
    case Task::kMaskedLm:
      add_mlm_options(app, command);
      break;
    case Task::kSequenceClassification:
      add_classify_options(app, command);
      break;
    case Task::kTokenClassification:
      add_tag_options(app, command);
      break;
    case Task::kQuestionAnswering:
      add_answer_options(app, command);
      break;
    case Task::kMultipleChoice:
      add_choose_options(app, command);
      break;
  }
  add_training_options(app, command);
}

train::TrainingOptions training_options(const TrainCommand& command) {
  train::TrainingOptions options;
  if (!command.options_file.empty()) train::read_options_file(options, command.options_file);
  for (const auto& [name, text] : command.flags) {
    if (!text.empty()) train::set_option(options, train::option_entry(name), text);
  }
  train::check_options(options);
  return options;
}

}  // namespace longformer::cli
