// pull: a model from the hub into the cache that huggingface_hub uses too. The one command that
// opens connections.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "io/hub/hub_environment.h"
#include "io/hub/hub_pull.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

struct PullCommand {
  std::string name;
  std::string revision = "main";
  bool offline = false;
  bool json = false;
};

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

std::string summary(const PullCommand& command, const io::PullReport& report) {
  const std::string whole = counted(report.files, "file") + ", " + megabytes(report.bytes);
  const std::string now = report.downloaded_files == 0
                              ? "all there already"
                              : counted(report.downloaded_files, "file") + " downloaded (" +
                                    megabytes(report.downloaded_bytes) + ")";
  return command.name + ": " + whole + "; " + now + ". Use it with --model " + command.name +
         (command.revision == "main" ? "" : " --revision " + command.revision);
}

int run_pull(const PullCommand& command) {
  if (command.offline || io::hub_is_offline()) {
    throw Error(ErrorCode::kInvalidArgument,
                "needs the network, which --offline, HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE "
                "forbids; pull it without them, or copy the hub cache from another machine",
                "pull " + command.name);
  }
  ProgressBar bar;
  io::PullOptions options{.name = command.name, .revision = command.revision};
  options.cache = io::hub_cache_directory();
  options.server = {
      .endpoint = io::hub_endpoint(),
      .token = io::hub_token(),
      .http = {.certificates = io::hub_certificates(), .stall_seconds = io::hub_stall_seconds()}};
  options.progress = [&](uint64_t done, uint64_t total) {
    if (total > 0) bar.update(static_cast<double>(done) / static_cast<double>(total));
  };
  options.notice = [&](const std::string& message) {
    bar.clear();
    notice(message);
  };
  const io::PullReport report = io::pull_model(options);
  bar.clear();
  Output output;
  if (command.json) {
    output.line(json_text(Json{{"model", command.name},
                               {"revision", command.revision},
                               {"commit", report.commit},
                               {"directory", report.directory.string()},
                               {"files", report.files},
                               {"bytes", report.bytes},
                               {"downloaded_files", report.downloaded_files},
                               {"downloaded_bytes", report.downloaded_bytes}}));
  } else {
    notice(summary(command, report));
    output.line(report.directory.string());
  }
  output.flush();
  return kDone;
}

}  // namespace

void add_pull(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("pull", "Download a model from the Hugging Face hub into its cache");
  auto command = std::make_shared<PullCommand>();
  app->add_option("NAME", command->name, "Model: NAME or ORG/NAME")->required();
  app->add_option("--revision", command->revision, "Branch, tag or commit")->capture_default_str();
  add_offline_option(*app, command->offline);
  app->add_flag("--json", command->json, "One JSON object");
  commands.add(app, [command] { return run_pull(*command); });
}

}  // namespace longformer::cli
