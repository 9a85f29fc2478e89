// convert: a long model from a short one, or a model in another precision.
#include "models/convert.h"

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "tasks/model_files.h"

namespace longformer::cli {
namespace {

struct ConvertCommand {
  std::string source;
  std::string destination;
  std::optional<int64_t> to_long;
  std::optional<int64_t> attention_window;
  std::optional<int64_t> position_period;
  std::string dtype;
  int threads = 0;
  bool json = false;
};

// The ids that the model puts around a text, for config.json. A source without a usable tokenizer
// converts without.
void find_special_tokens(const ConvertCommand& command, LongModelSettings& settings) {
  try {
    const text::Tokenizer tokenizer = tasks::load_tokenizer(command.source);
    const std::vector<int64_t> prefix = tokenizer.special_prefix();
    const std::vector<int64_t> suffix = tokenizer.special_suffix();
    if (!prefix.empty()) settings.cls_token_id = prefix.front();
    if (!suffix.empty()) settings.sep_token_id = suffix.back();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound && error.code() != ErrorCode::kUnsupported) throw;
    notice(std::string("cls and sep ids are not written: ") + error.what());
  }
}

DType dtype_of(const std::string& name) {
  if (name == "bf16") return DType::kBF16;
  if (name == "f16") return DType::kF16;
  if (name == "int8") return DType::kI8;
  return DType::kF32;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void print_report(const ConvertCommand& command, const ConvertReport& report) {
  Output output;
  if (command.json) {
    Json record = {{"destination", command.destination},
                   {"tensors", report.tensors},
                   {"dropped", report.dropped},
                   {"files", report.files},
                   {"refused", report.refused}};
    if (report.checked_tokens > 0) {
      record["checked_tokens"] = report.checked_tokens;
      record["largest_difference"] = report.largest_difference;
    }
    output.line(json_text(record));
    output.flush();
    return;
  }
  output.line(
      printable(command.destination, Lines::kJoin) + ": " + counted(report.tensors, "tensor") +
      ", " + counted(static_cast<int64_t>(report.files.size()), "companion file") + " taken along");
  if (!report.dropped.empty()) {
    output.line("left out, the result has no place for them: " +
                printable(joined(report.dropped), Lines::kJoin));
  }
  if (!report.refused.empty()) {
    output.line("objects of Python in the .bin that were left alone: " +
                printable(joined(report.refused), Lines::kJoin));
  }
  if (report.checked_tokens > 0) {
    char number[32];
    std::snprintf(number, sizeof number, "%.2g", report.largest_difference);
    output.line(
        "checked: on " + counted(report.checked_tokens, "token") +
        ", a window over the whole text gives the states of the short model, largest difference " +
        number);
  }
  output.flush();
}

int run_convert(const ConvertCommand& command) {
  ConvertReport report;
  if (command.to_long) {
    LongModelSettings settings;
    settings.max_tokens = *command.to_long;
    settings.attention_window = *command.attention_window;
    settings.position_period = command.position_period;
    settings.load.threads = command.threads;
    find_special_tokens(command, settings);
    report = convert_to_long(command.source, command.destination, settings);
  } else if (!command.dtype.empty()) {
    report = convert_dtype(command.source, command.destination, dtype_of(command.dtype));
  } else {
    notice(
        "convert: say what to do: --to-long N --attention-window W, or --dtype f32, bf16, "
        "f16 or int8");
    return kUsage;
  }
  print_report(command, report);
  return kDone;
}

}  // namespace

void add_convert(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "convert", "Make a long model from a short one, or store a model in another precision");
  auto command = std::make_shared<ConvertCommand>();
  app->add_option("source", command->source, "Model directory to read")
      ->required()
      ->type_name("SRC");
  app->add_option("destination", command->destination, "New directory to write")
      ->required()
      ->type_name("DST");
  CLI::Option* to_long =
      app->add_option("--to-long", command->to_long,
                      "Tokens that the new model reads; the source is BERT, RoBERTa or XLM-R");
  CLI::Option* window = app->add_option("--attention-window", command->attention_window,
                                        "Width of the attention window, both sides together; even");
  to_long->needs(window);
  window->needs(to_long);
  app->add_option("--position-period", command->position_period,
                  "Repeat the first P position rows of the source; default: all of them")
      ->needs(to_long);
  app->add_option("--threads", command->threads, "Threads of the check that ends the conversion")
      ->check(CLI::Range(1, 4096))
      ->needs(to_long);
  app->add_option(
         "--dtype", command->dtype,
         "Store the weights as f32, bf16, f16 or int8 (linear layers; the rest as bf16 and f32)")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}))
      ->excludes(to_long);
  app->add_flag("--json", command->json,
                "One JSON object: destination, tensors, dropped, files, refused, checked_tokens, "
                "largest_difference");
  commands.add(app, [command] { return run_convert(*command); });
}

}  // namespace longformer::cli
