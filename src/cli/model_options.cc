#include <cstdlib>

#include "cli/command.h"
#include "cli/process.h"
#include "longformer/error.h"

namespace longformer::cli {

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--model", options.model,
                 "Directory with config.json and model.safetensors; without it, the default model");
  app.add_option(
         "--threads", options.threads,
         "Threads; by default LONGFORMER_THREADS, OMP_NUM_THREADS, or all that the process may use")
      ->check(CLI::Range(1, 4096));
}

std::filesystem::path default_model_directory() {
  const auto from = [](const char* name) -> std::filesystem::path {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const auto home = from("LONGFORMER_HOME"); !home.empty())
    return home / LONGFORMER_DEFAULT_MODEL;
  if (const auto cache = from("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "longformer" / LONGFORMER_DEFAULT_MODEL;
  }
  if (const auto home = from("HOME"); !home.empty())
    return home / ".cache" / "longformer" / LONGFORMER_DEFAULT_MODEL;
  throw Error(ErrorCode::kNotFound,
              "the default model has no place: set LONGFORMER_HOME, or name a model with --model");
}

std::filesystem::path model_directory(const ModelOptions& options) {
  if (!options.model.empty()) return options.model;
  const std::filesystem::path directory = default_model_directory();
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(ErrorCode::kNotFound,
                "the default model is not there yet; make it once with tools/default_model.sh (the "
                "script ./longformer "
                "does that by itself), or name a model with --model",
                directory.string());
  }
  return directory;
}

void notice(const std::string& message) { print_message(message); }

}  // namespace longformer::cli
