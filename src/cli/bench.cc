// bench: speed and peak memory over lengths, beside the other implementations that the Longformer
// paper compares, and beside the Python reference.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "cli/bench_plot.h"
#include "cli/bench_run.h"
#include "cli/command.h"
#include "cli/output.h"
#include "io/files.h"
#include "longformer/error.h"
#include "models/weights.h"

namespace longformer::cli {
namespace {

// Attention of longformer-base.
constexpr int64_t kDefaultWindow = 512, kDefaultHeads = 12, kDefaultHeadDim = 64;
constexpr int64_t kMostHeads = 1024;
const std::vector<int64_t> kDefaultLengths = {512, 1024, 2048, 4096, 8192, 16384};

struct BenchCommand {
  ModelOptions model;
  std::vector<int64_t> lengths;
  int64_t window = kDefaultWindow;
  int64_t heads = kDefaultHeads;
  int64_t head_dim = kDefaultHeadDim;
  int64_t dilation = 1;
  std::vector<std::string> implementations;
  int repeats = 3;
  double limit = 8;
  std::string against;
  std::string python = "python3";
  std::string svg;
  bool json = false;
  std::string point;  // a process of one point
};

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message, place);
}

// Increasing and without repetition; the default's that the model can read.
std::vector<int64_t> lengths_of(const BenchCommand& command, int64_t most) {
  std::vector<int64_t> lengths = command.lengths;
  if (lengths.empty()) {
    for (const int64_t length : kDefaultLengths) {
      if (length <= most) lengths.push_back(length);
    }
    if (lengths.empty()) lengths.push_back(most);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.back() > most) {
    refuse("--lengths " + std::to_string(lengths.back()),
           "the model reads at most " + std::to_string(most) + " tokens");
  }
  return lengths;
}

// The chosen ones in the order of `known`; each must be among them.
std::vector<std::string> chosen(const std::vector<std::string>& wanted,
                                const std::vector<std::string>& known, const std::string& why_not) {
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse("--implementations " + name, why_not);
    }
  }
  std::vector<std::string> result;
  for (const std::string& name : known) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      result.push_back(name);
    }
  }
  return result;
}

BenchPlan plan_attention(const BenchCommand& command) {
  if (command.window == 0) {
    refuse("--window 0",
           "a window of attention has at least 2 tokens; full attention is an "
           "implementation of its own (--implementations full)");
  }
  if (command.window % 2 != 0) {
    refuse("--window " + std::to_string(command.window),
           "a window has the same reach to both sides: an even number");
  }
  BenchPlan plan;
  plan.point = {.window = command.window,
                .heads = command.heads,
                .head_dim = command.head_dim,
                .dilation = command.dilation};
  if (command.dilation == 1) {
    plan.implementations = chosen(command.implementations, {kOurs, kLoop, kChunks, kFull}, "");
  } else {
    plan.implementations = chosen(command.implementations, {kOurs, kLoop},
                                  "has no dilation; with --dilation there are longformer and loop");
  }
  plan.lengths = lengths_of(command, kMaxSequence);
  return plan;
}

// config.json alone is read here; each process loads the model.
BenchPlan plan_model(const BenchCommand& command) {
  const std::filesystem::path directory = model_directory(command.model);
  const EncoderConfig config = read_encoder_config(io::Config::read(directory / "config.json"));
  const bool windowed = std::any_of(config.attention_window.begin(), config.attention_window.end(),
                                    [](int64_t window) { return window > 0; });
  BenchPlan plan;
  plan.implementations =
      windowed ? chosen(command.implementations, {kOurs, kFull},
                        "computes attention alone; with --model there are longformer and full")
               : chosen(command.implementations, {kOurs},
                        "with a model that has no windows there is longformer, which computes "
                        "full attention");
  plan.lengths = lengths_of(command, config.max_tokens());
  plan.point = {.model = std::filesystem::absolute(directory).string(),
                .heads = config.heads,
                .head_dim = config.head_dim()};
  for (const int64_t window : config.attention_window) {
    plan.point.window = std::max(plan.point.window, window);
  }
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    plan.weights_bytes += static_cast<uint64_t>(element_count(tensor.shape)) * sizeof(float);
  }
  return plan;
}

Json record_of(const BenchRow& row) {
  const BenchPoint& point = row.point;
  const bool attention = point.model.empty();
  return {{"implementation", point.implementation},
          {"length", point.length},
          {"seconds_median", row.median()},
          {"seconds_min", row.seconds.front()},
          {"seconds_max", row.seconds.back()},
          {"peak_bytes", row.peak_bytes},
          {"repeats", row.seconds.size()},
          {"threads", point.threads},
          {"model", attention ? Json() : Json(point.model)},
          {"window", attention ? Json(point.window) : Json()},
          {"dilation", attention ? Json(point.dilation) : Json()},
          {"heads", point.heads},
          {"head_dim", point.head_dim}};
}

// What was measured, for the line above the table and the title of the plot.
std::string title_of(const BenchPlan& plan) {
  const BenchPoint& point = plan.point;
  std::string what =
      point.model.empty()
          ? "attention, " + counted(point.heads, "head") + " of " + std::to_string(point.head_dim) +
                ", window " + std::to_string(point.window) +
                (point.dilation > 1 ? ", dilation " + std::to_string(point.dilation) : "")
          : "forward pass of " + std::filesystem::path(point.model).filename().string();
  return what + ", float32, " + counted(point.threads, "thread");
}

constexpr const char* kTableHead =
    "  tokens  implementation     median    fastest    slowest     memory   vs longformer";

void print_rows(const std::vector<BenchRow>& rows, Output& output) {
  double ours = 0;
  for (const BenchRow& row : rows) {
    if (row.point.implementation == kOurs) ours = row.median();
  }
  for (const BenchRow& row : rows) {
    char ratio[32] = "";
    if (ours > 0) std::snprintf(ratio, sizeof ratio, "%12.2fx", row.median() / ours);
    char line[200];
    std::snprintf(line, sizeof line, "%8lld  %-14s %10s %10s %10s %10s   %s",
                  static_cast<long long>(row.point.length), row.point.implementation.c_str(),
                  duration_text(row.median()).c_str(), duration_text(row.seconds.front()).c_str(),
                  duration_text(row.seconds.back()).c_str(),
                  bytes_text(static_cast<double>(row.peak_bytes)).c_str(), ratio);
    output.line(line);
  }
}

int run_command(const BenchCommand& command) {
  Output output;
  if (!command.point.empty()) {
    output.line(json_text(to_json(measure(point_from_json(command.point)))));
    output.flush();
    return kDone;
  }
  BenchPlan plan = command.model.model.empty() ? plan_attention(command) : plan_model(command);
  plan.point.threads =
      command.model.threads > 0 ? command.model.threads : ThreadPool::default_threads();
  plan.repeats = command.repeats;
  plan.limit_seconds = command.limit;
  plan.python = command.python;
  std::string reference;
  if (!command.against.empty()) {
    if (plan.point.dilation != 1) refuse("--against reference", "the reference has no dilation");
    reference = reference_versions(command.python);
    plan.implementations.push_back(kReference);
  }
  std::optional<io::AtomicFile> svg;  // opened now: a wrong path is said before the work
  if (!command.svg.empty()) svg.emplace(command.svg);
  if (!command.json) {
    output.line(printable(title_of(plan), Lines::kJoin) + "; " + cpu_info().brand);
    if (!reference.empty()) output.line("reference: " + printable(reference, Lines::kJoin));
    output.line(kTableHead);
    output.flush();
  }
  std::vector<BenchRow> all;
  run_bench(plan, [&](const std::vector<BenchRow>& rows) {
    all.insert(all.end(), rows.begin(), rows.end());
    if (command.json) {
      for (const BenchRow& row : rows) output.line(json_text(record_of(row)));
    } else {
      print_rows(rows, output);
    }
    output.flush();
  });
  if (all.empty()) {
    refuse("bench", "nothing was measured: every point was left out, for the reasons above");
  }
  if (svg) {
    svg->write(bench_svg(all, title_of(plan)));
    svg->commit();
  }
  return kDone;
}

void add_shape_options(CLI::App& app, BenchCommand& command) {
  // With --model the files say these.
  const auto of_attention = [&](CLI::Option* option) {
    option->capture_default_str()->excludes("--model");
  };
  of_attention(app.add_option("--window", command.window,
                              "Attention window, both sides together: an even number")
                   ->check(CLI::Range(int64_t{0}, kMaxWindow)));
  of_attention(app.add_option("--heads", command.heads, "Attention heads")
                   ->check(CLI::Range(int64_t{1}, kMostHeads)));
  of_attention(app.add_option("--head-dim", command.head_dim, "Size of a head")
                   ->check(CLI::Range(int64_t{1}, kMaxHeadDim)));
  of_attention(app.add_option("--dilation", command.dilation,
                              "Step between the tokens of a window (longformer and loop)")
                   ->check(CLI::Range(int64_t{1}, kMaxSequence)));
}

}  // namespace

void add_bench(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "bench", "Speed and peak memory over lengths, beside other implementations");
  auto command = std::make_shared<BenchCommand>();
  add_model_options(*app, command->model);
  app->get_option("--model")->description(
      "Time the whole forward pass of this model (directory, or name in the hub cache) instead of "
      "attention alone");
  app->add_option("--lengths", command->lengths,
                  "Tokens, e.g. 512,4096; by default 512 to 16384, doubling")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->type_name("N[,N...]");
  add_shape_options(*app, *command);
  app->add_option("--implementations", command->implementations,
                  "Which to compare: longformer, loop (one query at a time), chunks (overlapping "
                  "blocks), full (all scores of all heads stored); with --model longformer and "
                  "full (the same engine without windows). By default all that can")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({kOurs, kLoop, kChunks, kFull}))
      ->type_name("NAME[,NAME...]");
  app->add_option("--repeats", command->repeats, "Processes a point, in turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--limit", command->limit,
                  "Leave out points of which one call would take longer, by the length before")
      ->check(CLI::Range(1e-3, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  CLI::Option* against =
      app->add_option("--against", command->against,
                      "reference: beside Transformers, which --python must be able to import")
          ->check(CLI::IsMember({kReference}));
  app->add_option("--python", command->python, "Python of --against reference")
      ->needs(against)
      ->capture_default_str();
  app->add_flag("--json", command->json, "One JSON object a point");
  app->add_option("--svg", command->svg, "Also draw time and memory over the length")
      ->type_name("FILE");
  app->add_option("--point", command->point, "Measure one point in this process")->group("");
  commands.add(app, [command] { return run_command(*command); });
}

}  // namespace longformer::cli
