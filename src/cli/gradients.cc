// gradients: loss and derivatives by every parameter, for anyone who compares numbers. Dropout is
// off. Inputs as those of `forward`, and labels; names are those of the reference's parameters.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/forward_inputs.h"
#include "cli/head_options.h"
#include "cli/load_options.h"
#include "io/checkpoint/safetensors.h"
#include "io/files.h"
#include "longformer/error.h"
#include "models/trainable_model.h"

namespace longformer::cli {
namespace {

struct GradientsOptions {
  ModelOptions model;
  LoadOverrides overrides;
  std::string inputs;
  std::string outputs;
  std::string model_class;
  std::string global;
  bool allow_new_head = false;
  bool checkpointing = false;
  double label_smoothing = 0;
  uint64_t seed = 0;
};

// The targets of one task, from the tensors of the file.
class TargetReader {
 public:
  TargetReader(const LabelTensors& labels, const InputTensors& in, const TaskInfo& info,
               std::string place)
      : labels_(labels), in_(in), info_(info), place_(std::move(place)) {}

  Targets read() const {
    Targets targets;
    const int64_t batch = in_.shape[0];
    switch (info_.task) {
      case Task::kQuestionAnswering:
        read_spans(targets);
        break;
      case Task::kMultipleChoice:
        targets.choices.assign(static_cast<size_t>(batch), in_.shape[1]);
        targets.classes = to_i64(shaped("labels", {batch}));
        break;
      case Task::kSequenceClassification:
        if (info_.problem == Problem::kSingleLabel) {
          targets.classes = to_i64(shaped("labels", {batch}));
        } else {
          targets.values = to_f32(values(batch));
        }
        break;
      default:
        targets.classes = to_i64(shaped("labels", in_.shape));
    }
    return targets;
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorCode::kInvalidFile, message, place_);
  }

  const Tensor& tensor(const std::string& name) const {
    const auto found = labels_.find(name);
    if (found == labels_.end()) {
      refuse("no tensor \"" + name + "\"; " + info_.model_class + " needs " +
             (info_.task == Task::kQuestionAnswering ? "start_positions and end_positions"
                                                     : "labels"));
    }
    return found->second;
  }

  const Tensor& shaped(const std::string& name, const Shape& shape) const {
    const Tensor& found = tensor(name);
    if (found.shape != shape) {
      refuse("tensor \"" + name + "\" has shape " + to_string(found.shape) + "; it must be " +
             to_string(shape));
    }
    if (is_floating(found.dtype)) refuse("tensor \"" + name + "\" must hold integers");
    return found;
  }

  // Of several labels or a regression.
  const Tensor& values(int64_t batch) const {
    const Tensor& found = tensor("labels");
    const bool column = info_.outputs == 1 && found.shape == Shape{batch};
    if (!column && found.shape != Shape{batch, info_.outputs}) {
      refuse("tensor \"labels\" has shape " + to_string(found.shape) + "; it must be " +
             to_string({batch, info_.outputs}));
    }
    if (!is_floating(found.dtype)) refuse("tensor \"labels\" must hold floating point numbers");
    const std::vector<float> numbers = to_f32(found);
    if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); })) {
      refuse("tensor \"labels\" holds a value that is not finite");
    }
    return found;
  }

  void read_spans(Targets& targets) const {
    const std::vector<int64_t> first = to_i64(shaped("start_positions", {in_.shape[0]}));
    const std::vector<int64_t> last = to_i64(shaped("end_positions", {in_.shape[0]}));
    for (size_t s = 0; s < first.size(); ++s) {
      targets.spans.push_back({{first[s], last[s]}});
    }
  }

  const LabelTensors& labels_;
  const InputTensors& in_;
  const TaskInfo& info_;
  const std::string place_;
};

void check_rank(const InputTensors& in, const TaskInfo& info, const std::string& place) {
  const bool choices = info.task == Task::kMultipleChoice;
  if (in.shape.size() == (choices ? 3U : 2U)) return;
  throw Error(ErrorCode::kInvalidFile,
              "input_ids has shape " + to_string(in.shape) + "; " + info.model_class + " reads " +
                  (choices ? "[batch, choices, seq]" : "[batch, seq]"),
              place);
}

std::vector<io::NamedTensor> named_gradients(const ParameterSet& parameters, double loss) {
  std::vector<io::NamedTensor> tensors;
  const auto value = static_cast<float>(loss);
  tensors.push_back({"loss", make_tensor({}, std::span<const float>(&value, 1))});
  for (const Parameter& parameter : parameters.all()) {
    const std::span<const float> gradient(parameter.gradient,
                                          static_cast<size_t>(parameter.elements));
    tensors.push_back({parameter.spec.name, make_tensor(parameter.spec.shape, gradient)});
  }
  return tensors;
}

int run_gradients(const GradientsOptions& options) {
  LabelTensors labels;
  InputTensors in = read_inputs(options.inputs, &labels);
  io::refuse_same_file(options.outputs, options.inputs);
  const std::filesystem::path directory = model_directory(options.model);
  io::refuse_file_of(directory, options.outputs);
  TrainableOptions load;
  load.task = {.load = {.threads = options.model.threads},
               .task = std::nullopt,
               .model_class = options.model_class,
               .allow_new_head = options.allow_new_head,
               .seed = options.seed};
  apply(options.overrides, load.task.load);
  load.activations = options.checkpointing ? Activations::kCheckpointed : Activations::kKept;
  load.label_smoothing = options.label_smoothing;
  TrainableModel model = TrainableModel::load(directory, load);
  for (const std::string& line : model.overrides()) notice(line);
  report_new_head(model.info());
  check_rank(in, model.info(), options.inputs);
  apply_global(options.global, model.info(), in);
  TrainingBatch batch;
  batch.targets = TargetReader(labels, in, model.info(), options.inputs).read();
  batch.input = std::move(in.input);
  const int64_t count = count_labels(batch.targets);
  if (count == 0) {
    throw Error(ErrorCode::kInvalidFile, "every label is -100: there is no loss", options.inputs);
  }
  TrainingLoss loss;
  try {
    loss = model.accumulate(batch, {.scale = 1.0 / static_cast<double>(count)});
  } catch (const Error& error) {
    if (!error.place().empty() || error.code() != ErrorCode::kInvalidArgument) throw;
    throw Error(error.code(), error.what(), options.inputs);
  }
  io::write_safetensors(
      options.outputs,
      named_gradients(model.parameters(), loss.sum / static_cast<double>(loss.labels)),
      {{"format", "pt"}});
  return kDone;
}

}  // namespace

void add_gradients(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("gradients", "Loss and gradients of a model on tensors of a file");
  auto options = std::make_shared<GradientsOptions>();
  add_model_options(*app, options->model);
  add_load_options(*app, options->overrides);
  app->add_option("--inputs", options->inputs,
                  "safetensors file: the inputs of `forward`, and labels [batch, seq] (masked LM, "
                  "tokens), [batch] (sequences, choices), [batch, labels] of numbers (several "
                  "labels, regression), or start_positions and end_positions [batch]; -100: none")
      ->required();
  app->add_option("--outputs", options->outputs,
                  "safetensors file to write: loss [], and a gradient a parameter")
      ->required();
  app->add_option("--class", options->model_class,
                  "Model class (LongformerForMaskedLM, BertForTokenClassification, …); default: "
                  "what config.json says");
  add_head_options(*app, options->global, options->allow_new_head);
  app->add_option("--seed", options->seed, "Of the new head's random numbers")
      ->needs("--allow-new-head");
  app->add_option("--label-smoothing-factor", options->label_smoothing,
                  "Share of each label that is spread over all classes")
      ->check(numbers_in(0.0, 0.999))
      ->capture_default_str();
  add_boolean(*app, "--gradient-checkpointing", options->checkpointing,
              "Keep the input of each layer only and compute the layer again on the way back");
  commands.add(app, [options] { return run_gradients(*options); });
}

}  // namespace longformer::cli
