// The command: parse, run one subcommand, turn errors into one line and an exit code.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/command.h"
#include "kernels/isa.h"
#include "longformer/error.h"

namespace longformer::cli {
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
  add_embed(root, commands);
  add_forward(root, commands);
  add_tokenize(root, commands);
  add_convert(root, commands);
  add_info(root, commands);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "longformer: %s. See longformer --help.\n", error.what());
    return kUsage;
  }
  kernels::apply_isa_limit_from_environment();
  for (const auto& [app, run] : commands.list) {
    if (app->parsed()) return run();
  }
  return kUsage;
}

}  // namespace
}  // namespace longformer::cli

int main(int argc, char** argv) {
  using namespace longformer;
  // A reader that goes away (`| head`) is no failure of ours: writes fail and the command ends
  // quietly.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return cli::run_command(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "longformer: %s\n", error.what());
    return cli::exit_code(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(
        stderr,
        "longformer: not enough memory for this input; use a shorter text or fewer threads\n");
    return cli::kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "longformer: internal error: %s\n", error.what());
    return cli::kFailed;
  }
}
