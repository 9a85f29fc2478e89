// inspect: what a model costs at a length, from its config.json alone: multiply-accumulates by
// module in four conventions, parameters, receptive field, memory.
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/inspect_text.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "io/config.h"
#include "kernels/gemm.h"
#include "models/complexity.h"
#include "models/memory_need.h"
#include "models/overrides.h"

namespace longformer::cli {
namespace {

struct InspectOptions {
  ModelOptions model;
  LoadOverrides overrides;
  int64_t length = 0;
  int64_t batch = 1;
  int64_t global = 0;
  std::string convention = "ptflops";
  bool json = false;
};

constexpr int64_t kMaxBatch = 65'536;

// --model may be a config.json that stands alone.
std::filesystem::path config_path(const ModelOptions& model) {
  std::error_code error;
  const std::filesystem::path path = model.model;
  if (std::filesystem::is_regular_file(path, error)) {
    if (model.revision.empty()) return path;
    throw Error(ErrorCode::kInvalidArgument,
                "--revision is for models in the hub cache; this is a file", path.string());
  }
  return model_directory(model) / "config.json";
}

// What the weights of the checkpoint are stored in, where the file says so.
DType stored_type(const io::Config& config) {
  const std::string name = config.string("dtype", config.string("torch_dtype", "float32"));
  return name == "bfloat16" || name == "float16" ? DType::kBF16 : DType::kF32;
}

Convention convention_of(const std::string& name) {
  for (const Convention convention : kConventions) {
    if (convention_name(convention) == name) return convention;
  }
  throw Error(ErrorCode::kInternal, "a convention without a name");
}

void check_sizes(const InspectOptions& options, const EncoderConfig& config) {
  if (options.length > config.max_tokens()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--length " + std::to_string(options.length) + ": the model reads at most " +
                    std::to_string(config.max_tokens()) +
                    " tokens; give less, or say how it shall read more (--max-tokens " +
                    std::to_string(options.length) + " --positions extend)");
  }
  if (options.global > options.length) {
    throw Error(ErrorCode::kInvalidArgument,
                "--global " + std::to_string(options.global) + ": a document of " +
                    std::to_string(options.length) + " tokens has at most as many global ones");
  }
  if (options.global > 0 && !config.global_attention) {
    throw Error(ErrorCode::kInvalidArgument, "--global " + std::to_string(options.global) + ": a " +
                                                 config.model_type +
                                                 " model has no global attention; leave it out");
  }
}

int run_inspect(const InspectOptions& options) {
  Inspection result;
  result.empty_process = resident_bytes();
  const std::filesystem::path path = config_path(options.model);
  const io::Config file = io::Config::read(path);
  EncoderConfig config = read_encoder_config(file);
  const std::optional<HeadConfig> head = stated_head(file, config);
  LoadOptions load;
  apply(options.overrides, load);
  result.overrides = apply_overrides(load, config);
  check_sizes(options, config);

  const int threads =
      options.model.threads > 0 ? options.model.threads : ThreadPool::default_threads();
  const LayerPlans plans(config, plain_pattern(config, 1, options.length, options.global));
  result.modules = module_costs(config, head, plans, {threads, kernels::row_quantum()});
  result.fields = receptive_fields(config, options.length, options.global);
  result.precision = choose_precision(load.compute, config.int8_weights, processor_arithmetic());
  result.stored = stored_type(file);
  const auto estimate = [&](const LayerPlans& of_batch) {
    return estimate_memory({config, result.precision, of_batch, threads}, head, result.stored);
  };
  result.memory = options.batch == 1
                      ? estimate(plans)
                      : estimate({config, plain_pattern(config, options.batch, options.length,
                                                        options.global)});

  result.model = path.string();
  result.model_class = head ? head->info.model_class : config.model_class;
  result.convention = convention_of(options.convention);
  result.length = options.length;
  result.global_tokens = options.global;
  result.batch = options.batch;
  result.threads = threads;
  result.config = std::move(config);

  Output output;
  output.line(options.json ? json_text(inspection_record(result)) : inspection_text(result));
  output.flush();
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "inspect",
      "What a model costs at a length, before it is loaded: multiply-accumulates, "
      "parameters, receptive field, memory");
  auto options = std::make_shared<InspectOptions>();
  add_model_options(*app, options->model);
  app->get_option("--model")->description(
      "Directory with config.json (or such a file; no weights are needed), or name in the hub "
      "cache; without it, the default model");
  app->add_option("--length", options->length, "Tokens of a document")
      ->required()
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->type_name("N");
  app->add_option("--global", options->global, "Tokens of it that have global attention")
      ->check(CLI::Range(int64_t{0}, kMaxSequence))
      ->type_name("G")
      ->capture_default_str();
  app->add_option("--batch", options->batch, "Documents at once, for the memory")
      ->check(CLI::Range(int64_t{1}, kMaxBatch))
      ->type_name("B")
      ->capture_default_str();
  app->add_option("--convention", options->convention,
                  "How the first lines count: ptflops, torch, exact or executed (the table has "
                  "all four)")
      ->check(CLI::IsMember({"ptflops", "torch", "exact", "executed"}))
      ->capture_default_str();
  add_reading_options(*app, options->overrides);
  app->add_flag("--json", options->json, "One JSON object");
  commands.add(app, [options] { return run_inspect(*options); });
}

}  // namespace longformer::cli
