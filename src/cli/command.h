// What the subcommands share. Each file of this folder adds one subcommand: an add_NAME() that
// declares its options (the one source of parser and --help) and hands main() the function that
// runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace longformer::cli {

// Exit codes of the command, the same for every subcommand.
enum ExitCode {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,        // bad usage, or nothing usable among the inputs
  kSomeSkipped = 3,  // done, but some inputs were skipped
  kNothingFound = 4,
};

// The registered subcommands. `run` returns an exit code and may throw longformer::Error, which
// main() prints.
struct Commands {
  std::vector<std::pair<CLI::App*, std::function<int()>>> list;
  void add(CLI::App* app, std::function<int()> run) { list.emplace_back(app, std::move(run)); }
};

struct ModelOptions {
  std::string model;     // directory, or name in the hub cache; empty: the default model
  std::string revision;  // of a name: branch, tag or commit; empty: main
  bool offline = false;
  int threads = 0;  // 0: LONGFORMER_THREADS, OMP_NUM_THREADS, or all that the process may use
};
// Adds --model, --revision, --offline and --threads.
void add_model_options(CLI::App& app, ModelOptions& options);
// Adds --offline, which HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE set as well.
void add_offline_option(CLI::App& app, bool& offline);
// For numbers of which any will do, but NaN and infinity.
CLI::Validator finite_number();
// A number from `low` to `high`, both included; CLI::Range lets NaN through.
CLI::Validator numbers_in(double low, double high);
// Anything but an empty value, which an unset variable of a shell becomes.
CLI::Validator not_empty();

// An option that takes true or false.
CLI::Option* add_boolean(CLI::App& app, const std::string& name, bool& value,
                         const std::string& help);
// The directory that --model or its absence means: one that exists comes before a name in the hub
// cache. Never opens a connection. Throws kNotFound with what to do.
std::filesystem::path model_directory(const ModelOptions& options);
// Where the default model lies once it is made: $LONGFORMER_HOME, else $XDG_CACHE_HOME/longformer,
// else ~/.cache/longformer.
std::filesystem::path default_model_directory();

// A line on standard error for the person at the terminal.
void notice(const std::string& message);

void add_forward(CLI::App& root, Commands& commands);
void add_gradients(CLI::App& root, Commands& commands);
void add_train(CLI::App& root, Commands& commands);
void add_inspect(CLI::App& root, Commands& commands);
void add_info(CLI::App& root, Commands& commands);
void add_search(CLI::App& root, Commands& commands);
void add_index(CLI::App& root, Commands& commands);
void add_embed(CLI::App& root, Commands& commands);
void add_classify(CLI::App& root, Commands& commands);
void add_fill_mask(CLI::App& root, Commands& commands);
void add_choose(CLI::App& root, Commands& commands);
void add_tag(CLI::App& root, Commands& commands);
void add_convert(CLI::App& root, Commands& commands);
void add_tokenize(CLI::App& root, Commands& commands);
void add_answer(CLI::App& root, Commands& commands);
void add_pull(CLI::App& root, Commands& commands);
void add_bench(CLI::App& root, Commands& commands);
void add_pattern(CLI::App& root, Commands& commands);
void add_attend(CLI::App& root, Commands& commands);
void add_plot(CLI::App& root, Commands& commands);
void add_schema(CLI::App& root, Commands& commands);

}  // namespace longformer::cli
