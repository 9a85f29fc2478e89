// The command: parse, run one subcommand, turn errors into one line and an exit code.
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/command.h"
#include "cli/process.h"
#include "cli/profile_table.h"
#include "kernels/isa.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {}
void add_evaluate(CLI::App& root, Commands& commands);
namespace {
int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
    case ErrorCode::kCancelled:
    case ErrorCode::kInternal:
      return kFailed;
    default:
      return kUsage;
  }
}

int run_command(int argc, char** argv) {
  CLI::App root{"longformer: search, embed and convert documents that are too long for BERT"};
  root.set_version_flag("--version", LONGFORMER_VERSION);
  root.require_subcommand(1);
  root.failure_message(CLI::FailureMessage::help);
  Commands commands;
  add_search(root, commands);
  add_index(root, commands);
  add_embed(root, commands);
  add_classify(root, commands);
  add_fill_mask(root, commands);
  add_choose(root, commands);
  add_answer(root, commands);
  add_tag(root, commands);
  add_forward(root, commands);
  add_gradients(root, commands);
  add_train(root, commands);
  add_tokenize(root, commands);
  add_convert(root, commands);
  add_inspect(root, commands);
  add_info(root, commands);
  add_pull(root, commands);
  add_bench(root, commands);
  add_pattern(root, commands);
  add_attend(root, commands);
  add_evaluate(root, commands);
  add_plot(root, commands);
  add_schema(root, commands);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    if (argc > 1 && argv[1][0] != '-' && root.get_subcommands().empty()) {
      std::string known;
      for (const auto& [app, run] : commands.list) {
        if (app->get_parent() == &root) known += (known.empty() ? "" : ", ") + app->get_name();
      }
      print_message("\"" + std::string(argv[1]) + "\" is no command; there are: " + known +
                    ". See longformer --help.");
      return kUsage;
    }
    std::string help = "longformer";
    const CLI::App* at = &root;
    while (!at->get_subcommands().empty()) {
      at = at->get_subcommands().front();
      help += " " + at->get_name();
    }
    print_message(std::string(error.what()) + ". See " + help + " --help.");
    return kUsage;
  }
  kernels::apply_isa_limit_from_environment();
  const bool verbose = profile_from_environment();
  for (const auto& [app, run] : commands.list) {
    if (!app->parsed()) continue;
    const int code = run();
    if (verbose) std::fputs(profile_table(take_profile()).c_str(), stderr);
    return code;
  }
  return kUsage;
}

}  // namespace
}  // namespace longformer::cli

int main(int argc, char** argv) {
  using namespace longformer;
  const cli::ProcessGuard guard;
  try {
    const int code = cli::run_command(argc, argv);
    if (cli::flush_output()) return code;
    cli::print_message("standard output cannot be written");
    return cli::kFailed;
  } catch (const Error& error) {
    cli::print_message(error.what());
    return cli::exit_code(error.code());
  } catch (const std::bad_alloc&) {
    cli::print_message(
        "not enough memory for this input; give less at once (a shorter text, a smaller file) or "
        "use fewer threads");
    return cli::kFailed;
  } catch (const std::exception& error) {
    cli::print_message(std::string("internal error: ") + error.what());
    return cli::kFailed;
  }
}
