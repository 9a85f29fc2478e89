// plot: the loss curves of trainings as a picture.
#include <memory>

#include "cli/command.h"
#include "cli/loss_plot.h"
#include "io/files.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

struct PlotCommand {
  std::vector<std::string> runs;
  std::string output;
};

int run_plot(const PlotCommand& command) {
  if (!command.output.ends_with(".svg")) {
    throw Error(ErrorCode::kInvalidArgument, "a picture is written as NAME.svg", "--output");
  }
  std::vector<train::LossCurves> runs;
  for (const std::string& path : command.runs) {
    runs.push_back(train::read_loss_curves(path));
    if (runs.back().train_loss.empty() && runs.back().eval_loss.empty()) {
      throw Error(ErrorCode::kInvalidFile,
                  "has no loss to draw yet; wait for the first line of its log", path);
    }
  }
  io::write_file_atomic(command.output, loss_svg(runs));
  return kDone;
}

}  // namespace

void add_plot(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("plot", "Draw the loss curves of trainings");
  auto command = std::make_shared<PlotCommand>();
  app->add_option("run", command->runs, "Directories of trainings, or their metrics.jsonl")
      ->type_name("RUN")
      ->required();
  app->add_option("--output", command->output, "Picture to write: FILE.svg")
      ->type_name("FILE")
      ->required();
  commands.add(app, [command] { return run_plot(*command); });
}

}  // namespace longformer::cli
