// info: what this build, this processor and a model are.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "kernels/rowwise.h"
#include "longformer/encoder.h"
#include "models/precision.h"

namespace longformer::cli {
namespace {

struct InfoOptions {
  ModelOptions model;
  LoadOverrides overrides;
  bool json = false;
  bool names = false;
};

// What each value of --compute means on this processor.
Json compute_record() {
  Json record = Json::object();
  for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    record[std::string(compute_name(compute))] = std::string(
        choose_precision(compute, /*stored_int8=*/false, processor_arithmetic()).computed);
  }
  return record;
}

Json machine_record(const InfoOptions& options) {
  const CpuInfo cpu = cpu_info();
  return {{"version", LONGFORMER_VERSION},
          {"processor", cpu.brand},
          {"features", cpu.features},
          {"instruction_set", kernels::isa_description()},
          {"matrix_library", kernels::library_version()},
          {"simd_targets", kernels::supported_targets()},
          {"row_quantum", kernels::row_quantum()},
          {"threads",
           options.model.threads > 0 ? options.model.threads : ThreadPool::default_threads()},
          {"compute", compute_record()}};
}

Json model_record(const InfoOptions& options) {
  const std::filesystem::path directory = model_directory(options.model);
  LoadOptions load{.threads = options.model.threads};
  apply(options.overrides, load);
  const Encoder encoder = Encoder::load(directory, load);
  const EncoderInfo& info = encoder.info();
  const NameReport& names = encoder.names();
  Json record = {{"directory", directory.string()},
                 {"model_type", info.model_type},
                 {"parameters", info.parameters},
                 {"layers", info.layers},
                 {"hidden_size", info.hidden_size},
                 {"heads", info.heads},
                 {"vocab_size", info.vocab_size},
                 {"max_tokens", info.max_tokens},
                 {"attention_window", info.attention_window},
                 {"attention_dilation", info.attention_dilation},
                 {"overrides", info.overrides},
                 {"compute", compute_name(info.compute)},
                 {"computed", info.computed},
                 {"pooler", info.has_pooler}};
  if (options.names) {
    record["loaded"] = names.loaded;
    record["missing"] = names.missing;
    record["unexpected"] = names.unexpected;
    record["converted"] = names.converted;
  } else {
    record["loaded"] = names.loaded.size();
    record["missing"] = names.missing.size();
    record["unexpected"] = names.unexpected.size();
    record["converted"] = names.converted.size();
  }
  return record;
}

std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ", ") + plain(item);
  return text;
}

void print(const Json& record, const std::string& before = "") {
  for (const auto& [key, value] : record.items()) {
    if (value.is_object()) {
      print(value, key == "model" ? "" : key + " ");
    } else {
      std::printf("%-18s %s\n", (before + key).c_str(),
                  printable(plain(value), Lines::kJoin).c_str());
    }
  }
}

int run_info(const InfoOptions& options) {
  Json record = machine_record(options);
  // Without --model the machine alone is described where no default model has been made yet.
  std::error_code error;
  if (!options.model.model.empty() ||
      std::filesystem::is_directory(default_model_directory(), error)) {
    record["model"] = model_record(options);
  }
  if (options.json) {
    std::printf("%s\n", record.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print(record);
  }
  return kDone;
}

}  // namespace

void add_info(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("info", "Describe this build, this processor and a model");
  auto options = std::make_shared<InfoOptions>();
  add_model_options(*app, options->model);
  add_load_options(*app, options->overrides);
  app->add_flag("--json", options->json, "One JSON object");
  app->add_flag("--names", options->names,
                "List the tensors that were loaded, missing, unexpected, converted");
  commands.add(app, [options] { return run_info(*options); });
}

}  // namespace longformer::cli
