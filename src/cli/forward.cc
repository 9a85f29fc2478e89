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
#include "cli/load_options.h"
#include "io/checkpoint/safetensors.h"
#include "io/config.h"
#include "longformer/encoder.h"

namespace longformer::cli {
namespace {

struct ForwardOptions {
  ModelOptions model;
  LoadOverrides overrides;
  std::string inputs;
  std::string outputs;
  std::string model_class;
  bool hidden_states = false;
  bool attentions = false;
  bool timing = false;
  int repeat = 1;
};

struct InputTensors {
  int64_t batch = 0;
  int64_t length = 0;
  EncoderInput input;
};

std::vector<uint8_t> read_mask(const std::vector<int64_t>& values, const std::string& name,
                               const std::string& place) {
  std::vector<uint8_t> mask(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0 && values[i] != 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  "value " + std::to_string(values[i]) + " at element " + std::to_string(i) +
                      "; a mask holds 0 and 1 (global tokens have a mask of their own: "
                      "global_attention_mask)",
                  place + ": " + name);
    }
    mask[i] = static_cast<uint8_t>(values[i]);
  }
  return mask;
}

InputTensors read_inputs(const std::string& path) {
  InputTensors result;
  const io::SafetensorsFile file = io::read_safetensors(path);
  const Tensor* ids = nullptr;
  for (const io::NamedTensor& tensor : file.tensors) {
    if (tensor.name == "input_ids") ids = &tensor.tensor;
  }
  if (ids == nullptr)
    throw Error(ErrorCode::kInvalidFile, "no tensor \"input_ids\" of shape [batch, seq]", path);
  if (ids->shape.size() != 2 || ids->shape[0] < 1 || ids->shape[1] < 1) {
    throw Error(ErrorCode::kInvalidFile,
                "input_ids has shape " + to_string(ids->shape) +
                    "; it must be [batch, seq], both at least 1",
                path);
  }
  result.batch = ids->shape[0];
  result.length = ids->shape[1];
  result.input.lengths.assign(static_cast<size_t>(result.batch), result.length);
  for (const io::NamedTensor& tensor : file.tensors) {
    if (tensor.tensor.shape != ids->shape) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + tensor.name + "\" has shape " + to_string(tensor.tensor.shape) +
                      "; it must be that of input_ids, " + to_string(ids->shape),
                  path);
    }
    if (is_floating(tensor.tensor.dtype)) {
      throw Error(ErrorCode::kInvalidFile,
                  "tensor \"" + tensor.name + "\" holds " +
                      std::string(dtype_name(tensor.tensor.dtype)) + "; inputs are integers (I64)",
                  path);
    }
    std::vector<int64_t> values = to_i64(tensor.tensor);
    if (tensor.name == "input_ids") {
      result.input.input_ids = std::move(values);
    } else if (tensor.name == "attention_mask") {
      result.input.attention_mask = read_mask(values, tensor.name, path);
    } else if (tensor.name == "global_attention_mask") {
      result.input.global_attention_mask = read_mask(values, tensor.name, path);
    } else if (tensor.name == "token_type_ids") {
      result.input.token_type_ids = std::move(values);
    } else if (tensor.name == "position_ids") {
      result.input.position_ids = std::move(values);
    } else {
      throw Error(ErrorCode::kUnsupported,
                  "tensor \"" + tensor.name +
                      "\" is not an input of this model; known are input_ids, attention_mask, "
                      "global_attention_mask, token_type_ids, position_ids",
                  path);
    }
  }
  return result;
}

// Only bare encoders are computed; a checkpoint of a task model is run without its head, and the
// user is told.
void check_class(const ForwardOptions& options, const std::filesystem::path& directory,
                 const EncoderInfo& info) {
  const std::string& bare = info.model_class;
  if (!options.model_class.empty()) {
    if (options.model_class == bare) return;
    throw Error(ErrorCode::kUnsupported,
                "--class " + options.model_class +
                    ": for this checkpoint the class that can be computed is " + bare);
  }
  for (const std::string& name :
       io::Config::read(directory / "config.json").strings("architectures")) {
    if (name != bare)
      notice("computing " + bare + " without the head of " + name + " (--class " + bare +
             " says so)");
  }
}

std::vector<io::NamedTensor> named_outputs(const InputTensors& in, const EncoderInfo& info,
                                           const EncoderOutput& out) {
  const Shape states{in.batch, in.length, info.hidden_size};
  std::vector<io::NamedTensor> tensors;
  tensors.push_back(
      {"last_hidden_state", make_tensor(states, std::span<const float>(out.last_hidden_state))});
  if (!out.pooler_output.empty()) {
    tensors.push_back({"pooler_output", make_tensor({in.batch, info.hidden_size},
                                                    std::span<const float>(out.pooler_output))});
  }
  for (size_t i = 0; i < out.hidden_states.size(); ++i) {
    tensors.push_back({"hidden_states." + std::to_string(i),
                       make_tensor(states, std::span<const float>(out.hidden_states[i]))});
  }
  return tensors;
}

// What the caller changed belongs to the numbers.
std::map<std::string, std::string> metadata_of(const EncoderInfo& info) {
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  for (const std::string& line : info.overrides) {
    std::string& text = metadata["overrides"];
    text += (text.empty() ? "" : "; ") + line;
  }
  if (const std::string compute = compute_note(info); !compute.empty()) {
    metadata["compute"] = compute;
  }
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

int run_forward(const ForwardOptions& options) {
  const InputTensors in = read_inputs(options.inputs);
  const std::filesystem::path directory = model_directory(options.model);
  const auto start = Clock::now();
  LoadOptions load{.threads = options.model.threads};
  apply(options.overrides, load);
  Encoder encoder = Encoder::load(directory, load);
  report_overrides(encoder.info());
  check_class(options, directory, encoder.info());
  const double load_seconds = seconds_since(start);
  const uint64_t rss_loaded = resident_bytes();
  std::optional<AttentionTensors> attentions;
  EncodeOptions encode{.hidden_states = options.hidden_states};
  if (options.attentions) {
    attentions.emplace(encoder.info(), in.input);
    encode.attentions = [&](const LayerAttention& layer) { attentions->add(layer); };
  }
  EncoderOutput out;
  std::vector<double> passes;
  for (int pass = 0; pass < options.repeat; ++pass) {
    out = {};  // or two outputs would count in the peak
    const auto begin = Clock::now();
    out = encoder.encode(in.input, encode);
    passes.push_back(seconds_since(begin));
  }
  const uint64_t rss_peak = peak_resident_bytes();
  std::vector<io::NamedTensor> outputs = named_outputs(in, encoder.info(), out);
  if (attentions) {
    for (io::NamedTensor& tensor : attentions->take()) outputs.push_back(std::move(tensor));
  }
  io::write_safetensors(options.outputs, outputs, metadata_of(encoder.info()));
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
  CLI::App* app =
      root.add_subcommand("forward", "Run the encoder on tensors of a safetensors file");
  auto options = std::make_shared<ForwardOptions>();
  add_model_options(*app, options->model);
  add_load_options(*app, options->overrides);
  app->add_option("--inputs", options->inputs,
                  "safetensors file: input_ids [batch, seq], optionally attention_mask, "
                  "global_attention_mask, "
                  "token_type_ids, position_ids")
      ->required();
  app->add_option("--outputs", options->outputs, "safetensors file to write")->required();
  app->add_option("--class", options->model_class,
                  "Model class to compute (LongformerModel, BertModel, RobertaModel, …)");
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
