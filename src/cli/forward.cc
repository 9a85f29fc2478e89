// forward: tensors in, tensors out, for anyone who compares numbers. Names and shapes are those of
// the reference model class.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/memory.h"
#include "cli/attention_tensors.h"
#include "cli/command.h"
#include "cli/forward_inputs.h"
#include "cli/head_options.h"
#include "cli/load_options.h"
#include "io/checkpoint/safetensors.h"
#include "io/config.h"
#include "io/files.h"
#include "longformer/task_model.h"
#include "models/heads.h"

namespace longformer::cli {
namespace {

struct ForwardOptions {
  ModelOptions model;
  LoadOverrides overrides;
  std::string inputs;
  std::string outputs;
  std::string model_class;
  std::string global;
  bool allow_new_head = false;
  uint64_t seed = 0;
  bool hidden_states = false;
  bool attentions = false;
  bool timing = false;
  int repeat = 1;
};

// The bare encoder, or the encoder with the head of its class.
class ForwardModel {
 public:
  ForwardModel(const std::filesystem::path& directory, const ForwardOptions& options,
               const LoadOptions& load) {
    const io::Config config = io::Config::read(directory / "config.json");
    const EncoderConfig encoder = read_encoder_config(config);
    TaskOptions task{.load = load,
                     .task = std::nullopt,
                     .model_class = options.model_class,
                     .allow_new_head = options.allow_new_head,
                     .seed = options.seed};
    const bool bare = options.model_class.empty() ? !stated_head(config, encoder)
                                                  : options.model_class == encoder.model_class;
    if (!bare) {
      head_ = std::make_unique<TaskModel>(TaskModel::load(directory, task));
      return;
    }
    if (options.allow_new_head) {
      throw Error(ErrorCode::kInvalidArgument, "--allow-new-head: " + encoder.model_class +
                                                   " has no head; --class names one of " +
                                                   head_classes(encoder));
    }
    if (options.model_class.empty()) report_headless(config, encoder);
    info_ = bare_info(config, encoder);
    bare_ = std::make_unique<Encoder>(Encoder::load(directory, load));
  }

  const TaskInfo& info() const { return head_ ? head_->info() : info_; }
  const EncoderInfo& encoder() const { return head_ ? head_->encoder().info() : bare_->info(); }
  bool has_head() const { return head_ != nullptr; }

  struct Result {
    TaskOutput task;
    EncoderOutput bare;
  };
  Result run(const EncoderInput& input, const TaskRunOptions& options) {
    Result result;
    if (head_) {
      result.task = head_->run(input, options);
    } else {
      result.bare = bare_->encode(
          input, {.hidden_states = options.hidden_states, .attentions = options.attentions});
    }
    return result;
  }

 private:
  // A checkpoint of a class that is not computed is run without its head, and the user is told.
  static void report_headless(const io::Config& config, const EncoderConfig& encoder) {
    for (const std::string& name : config.strings("architectures")) {
      if (name == encoder.model_class) continue;
      notice("computing " + encoder.model_class + " without the head of " + name + " (--class " +
             encoder.model_class + " says so)");
    }
  }

  TaskInfo info_;
  std::unique_ptr<Encoder> bare_;
  std::unique_ptr<TaskModel> head_;
};

void check_rank(const InputTensors& in, const ForwardModel& model, const std::string& place) {
  const bool choices = model.has_head() && model.info().task == Task::kMultipleChoice;
  if (in.shape.size() == (choices ? 3U : 2U)) return;
  throw Error(ErrorCode::kInvalidFile,
              "input_ids has shape " + to_string(in.shape) + "; " + model.info().model_class +
                  " reads " + (choices ? "[batch, choices, seq]" : "[batch, seq]"),
              place);
}

// What a model with a head does where nobody says which tokens are global, said.
void fill_default_global(const ForwardModel& model, InputTensors& in) {
  std::vector<uint8_t>& mask = in.input.global_attention_mask;
  if (!model.has_head() || !model.info().global_attention || !mask.empty()) return;
  for (int64_t s = 0; s < in.sequences(); ++s) {
    const std::vector<uint8_t> row = default_global(model.info(), in.ids(s));
    mask.insert(mask.end(), row.begin(), row.end());
  }
}

// Of each sequence, as computed.
std::vector<int64_t> global_counts(const InputTensors& in, const ForwardModel::Result& result) {
  if (!result.task.global_tokens.empty()) return result.task.global_tokens;
  std::vector<int64_t> counts(static_cast<size_t>(in.sequences()));
  for (size_t t = 0; t < in.input.global_attention_mask.size(); ++t) {
    const bool real = in.input.attention_mask.empty() || in.input.attention_mask[t] != 0;
    if (real && in.input.global_attention_mask[t] != 0) {
      ++counts[t / static_cast<size_t>(in.length())];
    }
  }
  return counts;
}

Tensor column(const std::vector<float>& values, size_t columns, size_t index, const Shape& shape) {
  std::vector<float> picked(values.size() / columns);
  for (size_t row = 0; row < picked.size(); ++row) picked[row] = values[row * columns + index];
  return make_tensor(shape, std::span<const float>(picked));
}

void add_logits(const InputTensors& in, const TaskInfo& info, const std::vector<float>& logits,
                std::vector<io::NamedTensor>& tensors) {
  const int64_t batch = in.shape[0];
  switch (info.task) {
    case Task::kQuestionAnswering:
      tensors.push_back({"start_logits", column(logits, 2, 0, in.shape)});
      tensors.push_back({"end_logits", column(logits, 2, 1, in.shape)});
      return;
    case Task::kMultipleChoice:
      tensors.push_back(
          {"logits", make_tensor({batch, in.shape[1]}, std::span<const float>(logits))});
      return;
    case Task::kSequenceClassification:
      tensors.push_back(
          {"logits", make_tensor({batch, info.outputs}, std::span<const float>(logits))});
      return;
    default:
      tensors.push_back({"logits", make_tensor({batch, in.length(), info.outputs},
                                               std::span<const float>(logits))});
  }
}

std::vector<io::NamedTensor> named_outputs(const InputTensors& in, const ForwardModel& model,
                                           const ForwardModel::Result& out) {
  const int64_t hidden = model.encoder().hidden_size;
  const Shape states{in.sequences(), in.length(), hidden};
  std::vector<io::NamedTensor> tensors;
  if (model.has_head()) {
    add_logits(in, model.info(), out.task.logits, tensors);
  } else {
    tensors.push_back({"last_hidden_state",
                       make_tensor(states, std::span<const float>(out.bare.last_hidden_state))});
  }
  if (!out.bare.pooler_output.empty()) {
    tensors.push_back(
        {"pooler_output",
         make_tensor({in.sequences(), hidden}, std::span<const float>(out.bare.pooler_output))});
  }
  const auto& layers = model.has_head() ? out.task.hidden_states : out.bare.hidden_states;
  for (size_t i = 0; i < layers.size(); ++i) {
    tensors.push_back({"hidden_states." + std::to_string(i),
                       make_tensor(states, std::span<const float>(layers[i]))});
  }
  return tensors;
}

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

// What the caller changed belongs to the numbers.
std::map<std::string, std::string> metadata_of(const EncoderInfo& info, const TaskInfo& task,
                                               const std::vector<int64_t>& global) {
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  for (const std::string& line : info.overrides) {
    std::string& text = metadata["overrides"];
    text += (text.empty() ? "" : "; ") + line;
  }
  if (const std::string compute = compute_note(info); !compute.empty()) {
    metadata["compute"] = compute;
  }
  if (task.global_attention) metadata["global_tokens"] = joined(global);  // of each sequence
  return metadata;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Global tokens are asked for by position or by rule: whether they were any is seen here.
void report_global(const ForwardOptions& options, const std::vector<int64_t>& counts) {
  if (options.global.empty()) return;
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const std::string range = *least == *most
                                ? std::to_string(*least)
                                : std::to_string(*least) + " to " + std::to_string(*most);
  notice("global tokens of a sequence: " + range);
}

int run_forward(const ForwardOptions& options) {
  InputTensors in = read_inputs(options.inputs);
  const std::filesystem::path directory = model_directory(options.model);
  io::refuse_file_of(directory, options.outputs);
  const auto start = Clock::now();
  LoadOptions load{.threads = options.model.threads};
  apply(options.overrides, load);
  io::refuse_same_file(options.outputs, options.inputs);
  ForwardModel model(directory, options, load);
  report_overrides(model.encoder());
  report_new_head(model.info());
  check_rank(in, model, options.inputs);
  apply_global(options.global, model.info(), in);
  const double load_seconds = seconds_since(start);
  const uint64_t rss_loaded = resident_bytes();
  std::optional<AttentionTensors> attentions;
  TaskRunOptions run{.hidden_states = options.hidden_states};
  if (options.attentions) {
    fill_default_global(model, in);
    attentions.emplace(model.encoder(), in.input);
    run.attentions = [&](const LayerAttention& layer) { attentions->add(layer); };
  }
  ForwardModel::Result out;
  std::vector<double> passes;
  for (int pass = 0; pass < options.repeat; ++pass) {
    out = {};  // or two outputs would count in the peak
    const auto begin = Clock::now();
    try {
      out = model.run(in.input, run);
    } catch (const Error& error) {
      if (!error.place().empty() || error.code() != ErrorCode::kInvalidArgument) throw;
      throw Error(error.code(), error.what(), options.inputs);
    }
    passes.push_back(seconds_since(begin));
  }
  const uint64_t rss_peak = peak_resident_bytes();
  const std::vector<int64_t> global = global_counts(in, out);
  std::vector<io::NamedTensor> outputs = named_outputs(in, model, out);
  if (attentions) {
    for (io::NamedTensor& tensor : attentions->take()) outputs.push_back(std::move(tensor));
  }
  io::write_safetensors(options.outputs, outputs,
                        metadata_of(model.encoder(), model.info(), global));
  report_global(options, global);
  if (options.timing) {
    const nlohmann::ordered_json line = {{"load_s", load_seconds},
                                         {"compute_s", median(passes)},
                                         {"passes_s", passes},
                                         {"rss_before_compute", rss_loaded},
                                         {"peak_rss_bytes", rss_peak}};
    std::fprintf(stderr, "%s\n", line.dump().c_str());
  }
  return kDone;
}

}  // namespace

void add_forward(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("forward", "Run a model on tensors of a safetensors file");
  auto options = std::make_shared<ForwardOptions>();
  add_model_options(*app, options->model);
  add_load_options(*app, options->overrides);
  app->add_option("--inputs", options->inputs,
                  "safetensors file: input_ids [batch, seq] ([batch, choices, seq] for multiple "
                  "choice), optionally attention_mask, "
                  "global_attention_mask, "
                  "token_type_ids, position_ids")
      ->required();
  app->add_option("--outputs", options->outputs, "safetensors file to write")->required();
  app->add_option("--class", options->model_class,
                  "Model class to compute (LongformerModel, LongformerForMaskedLM, "
                  "BertForTokenClassification, …); default: what config.json says");
  add_head_options(*app, options->global, options->allow_new_head);
  app->add_option("--seed", options->seed, "Of the new head's random numbers")
      ->needs("--allow-new-head");
  app->add_flag("--hidden-states", options->hidden_states,
                "Also write hidden_states.0 (embeddings) to hidden_states.N");
  app->add_flag("--attentions", options->attentions,
                "Also write attentions.N, and global_attentions.N where tokens are global");
  CLI::Option* timing =
      app->add_flag("--timing", options->timing,
                    "Print seconds and resident bytes as one JSON line on standard error");
  app->add_option("--repeat", options->repeat,
                  "Passes that --timing measures; the first one also touches the weights")
      ->check(CLI::Range(1, 1000000))
      ->needs(timing)
      ->capture_default_str();
  commands.add(app, [options] { return run_forward(*options); });
}

}  // namespace longformer::cli
