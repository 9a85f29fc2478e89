#include <cmath>
#include <cstdlib>

#include "cli/command.h"
#include "cli/process.h"
#include "io/files.h"
#include "io/hub/hub_cache.h"
#include "io/hub/hub_environment.h"
#include "longformer/error.h"

namespace longformer::cli {

void add_model_options(CLI::App& app, ModelOptions& options) {
  app.add_option("--model", options.model,
                 "Directory with config.json and weights, or name in the hub cache (see longformer "
                 "pull); without it, the default model");
  app.add_option("--revision", options.revision,
                 "Branch, tag or commit of a model in the hub cache; by default main");
  add_offline_option(app, options.offline);
  app.add_option(
         "--threads", options.threads,
         "Threads; by default LONGFORMER_THREADS, OMP_NUM_THREADS, or all that the process may use")
      ->check(CLI::Range(1, 4096));
}

void add_offline_option(CLI::App& app, bool& offline) {
  app.add_flag("--offline", offline,
               "Open no connection. Only pull ever opens one, and refuses with this option");
}

CLI::Validator finite_number() {
  const CLI::Validator validator(
      [](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && std::isfinite(value)) return std::string();
        return std::string("must be a finite number");
      },
      "");
  return validator;
}

CLI::Validator numbers_in(double low, double high) {
  const CLI::Range range(low, high);
  return CLI::Validator(
      [range](std::string& text) {
        const std::string fault = finite_number()(text);
        return fault.empty() ? range(text) : fault;
      },
      range.get_description());
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("an empty value; give one or leave the option out") : "";
      },
      "");
}

CLI::Option* add_boolean(CLI::App& app, const std::string& name, bool& value,
                         const std::string& help) {
  return app.add_option(name, value, help)
      ->check(CLI::IsMember({"true", "false"}))
      ->type_name("true|false")
      ->capture_default_str();
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
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path directory =
      options.model.empty() ? default_model_directory() : fs::path(options.model);
  if (fs::is_directory(directory, error)) {
    if (!io::entry_exists(directory / "config.json") &&
        io::entry_exists(directory / "model" / "config.json")) {
      throw Error(ErrorCode::kNotFound,
                  "is the run of a training; its model is " + (directory / "model").string(),
                  directory.string());
    }
    if (options.revision.empty()) return directory;
    throw Error(ErrorCode::kInvalidArgument,
                "--revision is for models in the hub cache; this is a directory",
                directory.string());
  }
  if (options.model.empty()) {
    throw Error(ErrorCode::kNotFound,
                "the default model is not there yet; make it once with tools/default_model.sh (the "
                "script ./longformer "
                "does that by itself), or name a model with --model",
                directory.string());
  }
  if (!io::is_hub_name(options.model)) {
    throw Error(ErrorCode::kNotFound,
                "is no directory, and no name of a model in the hub cache (ORG/NAME); name one of "
                "the two",
                options.model);
  }
  try {
    return io::find_cached_model(io::hub_cache_directory(), options.model,
                                 options.revision.empty() ? "main" : options.revision);
  } catch (const Error& missing) {
    if (missing.code() != ErrorCode::kNotFound || !(options.offline || io::hub_is_offline())) throw;
    throw Error(ErrorCode::kNotFound, std::string(missing.what()) + " (not while offline)");
  }
}

void notice(const std::string& message) { print_message(message); }

}  // namespace longformer::cli
