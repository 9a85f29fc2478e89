// What `longformer train` is told, for all its tasks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/load_options.h"
#include "longformer/task_model.h"
#include "train/data/answer_data.h"
#include "train/data/choose_data.h"
#include "train/data/classify_data.h"
#include "train/data/mlm_data.h"
#include "train/data/tag_data.h"
#include "train/options.h"

namespace longformer::cli {

struct TrainCommand {
  Task task = Task::kMaskedLm;
  ModelOptions model;
  LoadOverrides overrides;
  std::string output;  // directory of the run
  bool resume = false;
  bool json = false;

  std::vector<std::string> files;
  std::vector<std::string> evaluation_files;
  double evaluation_share = 0;  // of `files`, where there are no evaluation files
  std::string group_field;
  uint64_t split_seed = 0;
  int64_t max_length = 0;
  std::string long_text;  // "", "windows", "truncate", "error"
  std::optional<int64_t> stride;
  bool skip_bad = false;
  std::string global;

  std::string options_file;
  std::map<std::string, std::string> flags;  // option -> what the command line says
  std::string trained = "all";               // "all", "head", "positions"
  bool from_scratch = false;                 // new weights, from --seed
  int64_t freeze_layers = 0;                 // from the bottom, with the embeddings

  // Masked language models.
  int64_t to_long = 0;  // make a long model of so many tokens first
  int64_t long_window = 512;
  std::string new_positions = "copy";  // "copy", "random"
  bool one_per_line = false;
  std::string packing = "fill";
  train::MlmOptions mlm;

  std::string problem_type;          // classify
  std::string labels_from = "auto";  // "auto", "model", "data"
  train::ClassifyFields classify;
  train::TagDataOptions tag;
  bool label_all_tokens = false;
  train::AnswerDataOptions answer;
  bool drop_unanswered = false;
  train::ChooseFields choose;
};

// The options of one subcommand of `train`.
void add_train_options(CLI::App& app, TrainCommand& command);

// The training options that file and flags give. Throws kInvalidArgument naming what is wrong.
train::TrainingOptions training_options(const TrainCommand& command);

}  // namespace longformer::cli
