#include "cli/train_setup.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "cli/head_options.h"
#include "cli/output.h"
#include "io/config.h"
#include "io/files.h"
#include "kernels/gemm.h"
#include "longformer/error.h"
#include "models/convert.h"
#include "models/heads.h"
#include "tasks/fill_mask.h"
#include "tasks/label_set.h"
#include "tasks/model_files.h"
#include "train/run_directory.h"

namespace longformer::cli {
namespace {

using train::SplitSide;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

// Before the work that ends there.
void make_output(const std::filesystem::path& output) {
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (!error && access(output.c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    throw Error(ErrorCode::kInvalidArgument,
                "--output: cannot be made or written: " + error.message() +
                    "; name a directory that you may write to",
                output.string());
  }
}

// A directory without weights may be meant as a model that is yet to be trained.
TrainableModel load_or_advise(const std::filesystem::path& directory,
                              const TrainableOptions& options) {
  try {
    return TrainableModel::load(directory, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound || !io::entry_exists(directory / "config.json")) throw;
    throw Error(error.code(),
                std::string(error.what()) + "; --from-scratch true begins with new weights");
  }
}

}  // namespace

TrainSetup::TrainSetup(const TrainCommand& command, const train::TrainingOptions& options)
    : command_(command),
      options_(options),
      directory_(source_model()),
      tokenizer_(tasks::load_tokenizer(directory_)) {
  TrainableModel model = load_model();
  make_output(command.output);
  data_model_ = std::make_unique<train::DataModel>(
      train::DataModel{tokenizer_, train::tokenizer_id(directory_), model.info(),
                       model.config().max_tokens(), model.config().type_vocab_size});
  const bool split = command.evaluation_share > 0;
  std::unique_ptr<train::TrainingData> training =
      data(command.files, split ? SplitSide::kTraining : SplitSide::kAll);
  report(*training, "training");
  std::unique_ptr<train::TrainingData> evaluation;
  if (split) evaluation = data(command.files, SplitSide::kEvaluation);
  if (!command.evaluation_files.empty()) {
    evaluation = data(command.evaluation_files, SplitSide::kAll);
  }
  if (evaluation != nullptr) report(*evaluation, "evaluation");
  if (training->examples() == 0) {
    refuse("no example to train on; each file was read, and no record of it can be used");
  }
  freeze(model);
  train::ModelTaskParts parts{std::move(model), directory_, std::move(training),
                              std::move(evaluation)};
  if (command.task == Task::kMaskedLm) parts.global = GlobalProjections::kFromLocal;
  task_ = std::make_unique<train::ModelTask>(std::move(parts));
}

// What needs the options and problem_type_ alone: before the data is read.
void TrainSetup::check_command() const {
  if (!command_.evaluation_files.empty() && command_.evaluation_share > 0) {
    refuse("--eval and --eval-share: give one of them");
  }
  if (!command_.group_field.empty() && command_.evaluation_share == 0) {
    refuse("--group-by keeps records together where --eval-share parts them: give that, too");
  }
  if (command_.freeze_layers > 0 && command_.trained != "all") {
    refuse("--freeze-layers and --train " + command_.trained + ": give one of them");
  }
  if (command_.evaluation_files.empty() && command_.evaluation_share == 0) {
    for (const auto& [name, asked] :
         {std::pair{"--eval-on-start", options_.eval_on_start},
          std::pair{"--eval-steps", options_.eval_steps > 0},
          std::pair{"--early-stopping-patience", options_.early_stopping_patience > 0},
          std::pair{"--load-best-model-at-end", options_.load_best_model_at_end}}) {
      if (asked) refuse(std::string(name) + " needs an evaluation set: --eval or --eval-share");
    }
  }
  std::string known;
  for (const std::string& name : metrics()) {
    if (options_.metric_for_best_model == name || options_.metric_for_best_model == "eval_" + name)
      return;
    known += (known.empty() ? "" : ", ") + name;
  }
  refuse("--metric-for-best-model is \"" + options_.metric_for_best_model +
         "\"; the evaluation of this task gives " + known);
}

// The model's directory, or that of the long model made from it.
std::filesystem::path TrainSetup::source_model() const {
  const std::filesystem::path from = model_directory(command_.model);
  if (!command_.resume) train::refuse_a_training(command_.output);
  if (command_.to_long == 0) return from;
  if (command_.from_scratch) {
    refuse("--from-scratch and --to-long: a new model is as long as its config.json says");
  }
  const std::filesystem::path to = std::filesystem::path(command_.output) / "start";
  if (!io::entry_exists(to)) {
    make_output(command_.output);
    make_long_model(from, to);
  }
  return to;
}

void TrainSetup::make_long_model(const std::filesystem::path& from,
                                 const std::filesystem::path& to) const {
  LongModelSettings settings;
  settings.max_tokens = command_.to_long;
  settings.attention_window = command_.long_window;
  settings.head = LongModelHead::kKept;
  const text::Tokenizer tokenizer = tasks::load_tokenizer(from);
  const std::vector<int64_t> prefix = tokenizer.special_prefix();
  const std::vector<int64_t> suffix = tokenizer.special_suffix();
  if (!prefix.empty()) settings.cls_token_id = prefix.front();
  if (!suffix.empty()) settings.sep_token_id = suffix.back();
  if (command_.new_positions == "random") settings.new_positions = NewPositions::kRandom;
  settings.seed = static_cast<uint64_t>(options_.seed);
  settings.load.threads = command_.model.threads;
  convert_to_long(from, to, settings);
  notice("made a model that reads " + std::to_string(command_.to_long) + " tokens: " + to.string());
}

TrainableModel TrainSetup::load_model() {
  const io::Config config = io::Config::read(directory_ / "config.json");
  const EncoderConfig encoder = read_encoder_config(config);
  const std::optional<HeadConfig> stated = stated_head(config, encoder);
  const bool trained_for_it = stated && stated->info.task == command_.task;
  TrainableOptions load;
  load.task.load.threads = command_.model.threads;
  apply(command_.overrides, load.task.load);
  load.task.load.compute = options_.bf16 ? Compute::kBf16 : Compute::kF32;
  load.task.task = command_.task;
  load.task.allow_new_head = true;
  load.task.seed = static_cast<uint64_t>(options_.seed);
  load.activations =
      options_.gradient_checkpointing ? Activations::kCheckpointed : Activations::kKept;
  load.label_smoothing = options_.label_smoothing_factor;
  if (command_.task == Task::kSequenceClassification) {
    problem_type_ = command_.problem_type;
    if (problem_type_.empty()) {
      problem_type_ = trained_for_it && !stated->info.problem_type.empty()
                          ? stated->info.problem_type
                          : "single_label_classification";
    }
    load.problem_type = problem_type_;
  }
  check_command();
  const bool of_data =
      command_.labels_from == "data" || (command_.labels_from == "auto" && !trained_for_it);
  const bool classifies =
      command_.task == Task::kSequenceClassification || command_.task == Task::kTokenClassification;
  if (classifies && of_data) load.labels = labels_of_data();
  if (classifies && command_.labels_from == "model" && !trained_for_it) {
    refuse("--labels model: the checkpoint has no head for this task; take --labels data");
  }
  if (command_.from_scratch) {
    load.start = StartWeights::kFresh;
    notice("every weight is new: random numbers from seed " + std::to_string(options_.seed));
  }
  TrainableModel model = load_or_advise(directory_, load);
  for (const std::string& line : model.overrides()) notice(line);
  if (classifies && of_data) {
    notice("the data has " + counted(std::ssize(load.labels), "label") + ": " +
           tasks::LabelSet(load.labels).list());
  }
  check_new_head(model.info());
  if (options_.bf16 && !kernels::supports(DType::kBF16)) {
    notice("bf16: this processor does not multiply it; computing in f32");
  }
  EncoderInfo info;
  info.vocab_size = model.config().vocab_size;
  tasks::check_vocabulary(tokenizer_, info, directory_);
  return model;
}

void TrainSetup::check_new_head(const TaskInfo& info) const {
  if (!info.new_tensors.empty() && command_.trained == "positions") {
    refuse(
        "--train positions: the model has no head for this task, and a new one would stay random; "
        "train all of it first");
  }
  report_new_head(info);
}

std::vector<std::string> TrainSetup::labels_of_data() const {
  std::vector<std::string> labels = find_labels();
  if (labels.size() == 1 && problem_type_ == "single_label_classification") {
    refuse("every record has the same label: there is nothing to tell apart");
  }
  return labels;
}

std::vector<std::string> TrainSetup::find_labels() const {
  const train::DataOptions options = data_options(command_.files, SplitSide::kAll);
  if (command_.task == Task::kTokenClassification) {
    return train::tag_labels(options, command_.tag);
  }
  if (problem_type_ == "regression") return {"LABEL_0"};
  return train::classify_labels(
      options, command_.classify,
      problem_type_ == "multi_label_classification" ? Problem::kMultiLabel : Problem::kSingleLabel);
}

train::DataOptions TrainSetup::data_options(const std::vector<std::string>& files,
                                            SplitSide side) const {
  train::DataOptions options;
  options.paths = files;
  options.cache = std::filesystem::path(command_.output) / "cache";
  options.max_length = command_.max_length;
  if (command_.long_text == "windows") options.long_text = tasks::LongText::kWindows;
  if (command_.long_text == "truncate") options.long_text = tasks::LongText::kTruncate;
  if (command_.long_text == "error") options.long_text = tasks::LongText::kRefuse;
  options.stride = command_.stride;
  options.bad = command_.skip_bad ? train::BadRecords::kSkip : train::BadRecords::kRefuse;
  options.global = command_.global;
  options.split.side = side;
  options.split.group_field = command_.group_field;
  options.split.share = command_.evaluation_share;
  options.split.seed = command_.split_seed;
  return options;
}

std::unique_ptr<train::TrainingData> TrainSetup::data(const std::vector<std::string>& files,
                                                      SplitSide side) const {
  const train::DataOptions options = data_options(files, side);
  switch (command_.task) {
    case Task::kSequenceClassification:
      return train::classify_data(*data_model_, options, command_.classify);
    case Task::kTokenClassification: {
      train::TagDataOptions how = command_.tag;
      if (command_.label_all_tokens) how.other_pieces = train::OtherPieces::kInside;
      return train::tag_data(*data_model_, options, how);
    }
    case Task::kQuestionAnswering: {
      train::AnswerDataOptions how = command_.answer;
      if (command_.drop_unanswered) how.no_answer = train::NoAnswer::kDrop;
      return train::answer_data(*data_model_, options, how);
    }
    case Task::kMultipleChoice:
      return train::choose_data(*data_model_, options, command_.choose);
    default:
      break;
  }
  train::MlmOptions how = command_.mlm;
  if (command_.one_per_line) how.files = train::TextFiles::kDocumentALine;
  if (command_.packing == "whole") how.packing = train::Packing::kWhole;
  how.mask_id = tasks::mask_token(directory_, tokenizer_).id;
  return train::mlm_data(*data_model_, options, how);
}

void TrainSetup::freeze(TrainableModel& model) const {
  ParameterSet& parameters = model.parameters();
  const EncoderConfig& config = model.config();
  const std::string prefix = config.name_prefixes.empty() ? "" : config.name_prefixes.front();
  const std::string positions = config.names->position_embeddings == nullptr
                                    ? ""
                                    : prefix + config.names->position_embeddings + ".weight";
  if (command_.trained == "positions" && positions.empty()) {
    refuse("--train positions: the model has no position table");
  }
  if (command_.freeze_layers > config.layers) {
    refuse("--freeze-layers " + std::to_string(command_.freeze_layers) + ": the model has " +
           std::to_string(config.layers));
  }
  const auto frozen_layer = [&](const std::string& name) {
    const std::string layers = prefix + config.names->layers;
    return name.starts_with(layers) &&
           std::atoll(name.c_str() + layers.size()) < command_.freeze_layers;
  };
  const bool without_globals =
      command_.task == Task::kMaskedLm || command_.global == "none" ||
      (command_.task == Task::kTokenClassification && command_.global.empty());
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    const bool of_encoder = name.starts_with(prefix);
    const bool embedding = name.starts_with(prefix + "embeddings.");
    // Nothing reaches them, and weight decay would shrink them. Those of a masked language model
    // are copied when it is saved.
    const bool unused = without_globals && name.find("_global.") != std::string::npos;
    bool frozen = unused || frozen_layer(name) || (command_.freeze_layers > 0 && embedding);
    if (command_.trained == "head") frozen = frozen || of_encoder;
    if (command_.trained == "positions") frozen = name != positions;
    if (frozen) parameters.freeze(name);
  }
  if (parameters.trained_elements() == 0) refuse("nothing is left to train");
}

void TrainSetup::report(const train::TrainingData& data, const char* what) {
  const train::Notices& notices = data.notices();
  skipped_ += notices.skipped;
  std::string line = std::string(what) + ": " + counted(data.examples(), "example") + " from " +
                     counted(notices.records, "record");
  for (const auto& [name, count] : train::counts_of(notices)) {
    if (name != "records") line += ", " + std::to_string(count) + " " + name;
  }
  notice(line);
  for (const std::string& named : notices.named) notice(named);
}

std::vector<std::string> TrainSetup::metrics() const {
  switch (command_.task) {
    case Task::kMaskedLm:
      return {"loss", "bits", "accuracy"};
    case Task::kTokenClassification:
      return {"loss", "accuracy", "f1"};
    case Task::kQuestionAnswering:
      return {"loss", "exact"};
    case Task::kSequenceClassification:
      if (problem_type_ == "regression") return {"loss"};
      return {"loss", "accuracy"};
    default:
      return {"loss", "accuracy"};
  }
}

}  // namespace longformer::cli
