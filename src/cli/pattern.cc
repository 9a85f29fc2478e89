// pattern: how many scores an attention pattern computes, and a drawing of it.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "attention/bigbird.h"
#include "base/limits.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/pattern_picture.h"
#include "cli/pattern_plot.h"
#include "cli/svg.h"
#include "io/files.h"
#include "io/png.h"
#include "longformer/error.h"
#include "models/encoder_batch.h"

namespace longformer::cli {
namespace {

struct PatternCommand {
  std::optional<int64_t> length;
  std::optional<int64_t> window, left, right;
  std::vector<int64_t> dilation;
  bool causal = false;
  std::string global, valid;
  std::string masked_queries = "zero";
  std::optional<int64_t> block_size;
  int64_t random_blocks = 3;
  uint32_t seed = 0;
  std::string random_plan = "drawn";
  std::string grid, box;
  std::optional<int64_t> shift;  // given: the boxes are Swin's
  std::optional<int64_t> heads;
  int64_t head = 0;
  std::string model, revision;
  bool offline = false;
  int64_t layer = 0;
  int64_t columns = 80;
  std::string output;
  bool json = false;
};

// What is drawn, and where it comes from.
struct Subject {
  AttentionPattern pattern;
  std::string place;  // "head 0 of 12"; empty where there is only one
  std::optional<int64_t> layer;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

// A whole number at the start of `text`, which is cut off.
bool take_number(std::string_view& text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "0,7,12-20" as ranges with their ends; they may come in any order and touch or overlap.
std::vector<Interval> parse_positions(const std::string& option, std::string_view text,
                                      int64_t length) {
  std::vector<Interval> ranges;
  const auto malformed = [&] {
    refuse(option + " is a list of positions and ranges from 0, such as 0,7,12-20");
  };
  for (bool more = true; more;) {
    Interval range;
    if (!take_number(text, range.begin)) malformed();
    range.end = range.begin;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, range.end)) malformed();
    }
    more = text.starts_with(',');
    if (more) text.remove_prefix(1);
    if (!more && !text.empty()) malformed();
    if (range.end < range.begin || range.end >= length) {
      refuse(option + ": " + std::to_string(range.begin) + "-" + std::to_string(range.end) +
             " is no range of positions from 0 to " + std::to_string(length - 1));
    }
    ++range.end;
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> joined;
  for (const Interval& range : ranges) {
    if (joined.empty() || range.begin > joined.back().end) {
      joined.push_back(range);
    } else {
      joined.back().end = std::max(joined.back().end, range.end);
    }
  }
  return joined;
}

// "64x48": height and width.
std::pair<int64_t, int64_t> parse_size(const std::string& option, std::string_view text) {
  std::pair<int64_t, int64_t> size;
  const bool first = take_number(text, size.first);
  const bool by = text.starts_with('x');
  if (by) text.remove_prefix(1);
  if (!first || !by || !take_number(text, size.second) || !text.empty()) {
    refuse(option + " is HEIGHTxWIDTH, such as 64x64");
  }
  for (const int64_t side : {size.first, size.second}) {
    if (side < 1 || side > kMaxSequence) {
      refuse(option + " has a side of " + std::to_string(side) + "; allowed are 1 to " +
             std::to_string(kMaxSequence));
    }
  }
  return size;
}

void set_globals_and_valid(const PatternCommand& command, AttentionPattern& pattern) {
  const int64_t length = pattern.lengths[0];
  if (!command.global.empty() && command.global != "none") {
    std::vector<int64_t> positions;
    for (const Interval& range : parse_positions("--global", command.global, length)) {
      for (int64_t p = range.begin; p < range.end; ++p) positions.push_back(p);
    }
    if (!pattern.global.empty()) {  // BigBird's blocks
      positions.insert(positions.end(), pattern.global[0].begin(), pattern.global[0].end());
      std::sort(positions.begin(), positions.end());
      positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    }
    pattern.global = {std::move(positions)};
  }
  if (!command.valid.empty()) {
    pattern.valid = {parse_positions("--valid", command.valid, length)};
  }
}

// Swin fits its window into a map that is no larger, and then does not shift it.
Grid swin_grid(Grid grid) {
  const int64_t smaller = std::min(grid.height, grid.width);
  const bool fits = grid.box_height == smaller && grid.shift == 0;
  if (grid.box_height != grid.box_width || smaller > grid.box_height || fits) return grid;
  notice("a map of " + std::to_string(grid.height) + "x" + std::to_string(grid.width) +
         " is no larger than its window: it is not shifted, and the window is " +
         std::to_string(smaller) + "x" + std::to_string(smaller));
  grid.box_height = grid.box_width = smaller;
  grid.shift = 0;
  return grid;
}

AttentionPattern grid_pattern(const PatternCommand& command) {
  const auto [height, width] = parse_size("--grid", command.grid);
  const auto [box_height, box_width] = parse_size("--box", command.box);
  if (height * width > kMaxSequence) {
    refuse("--grid has " + std::to_string(height * width) + " tokens; allowed are at most " +
           std::to_string(kMaxSequence));
  }
  const int64_t shift = command.shift.value_or(0);
  if (shift >= std::min(box_height, box_width)) {
    refuse("--shift is " + std::to_string(shift) +
           "; allowed are 0 to the smaller side of --box less one");
  }
  AttentionPattern pattern;
  pattern.heads = command.heads.value_or(1);
  pattern.lengths = {command.length.value_or(height * width)};
  pattern.grid = Grid{height, width, box_height, box_width, shift};
  if (command.shift) pattern.grid = swin_grid(*pattern.grid);
  return pattern;
}

AttentionPattern block_pattern(const PatternCommand& command) {
  constexpr int64_t kPublishedHeads = 12;
  const BigBirdSettings settings = {
      .length = *command.length,
      .block_size = *command.block_size,
      .random_blocks = command.random_blocks,
      .heads = command.heads.value_or(kPublishedHeads),
      .seed = command.seed,
      .random = command.random_plan == "drawn" ? RandomBlocks::kDrawn : RandomBlocks::kFirstBlock};
  AttentionPattern pattern = bigbird_pattern(settings);
  if (bigbird_attends_fully(settings)) {
    const int64_t most = (5 + 2 * settings.random_blocks) * settings.block_size;
    notice("BigBird attends to everything up to (5 + 2 x random blocks) x block size tokens, " +
           std::to_string(most) + " here");
  }
  return pattern;
}

AttentionPattern sequence_pattern(const PatternCommand& command) {
  AttentionPattern pattern;
  pattern.lengths = {*command.length};
  if (command.dilation.size() > 1) {
    pattern.heads = command.heads.value_or(static_cast<int64_t>(command.dilation.size()));
    pattern.dilation = command.dilation;
  } else {
    pattern.heads = command.heads.value_or(1);
    if (!command.dilation.empty() && command.dilation[0] != 1) {
      pattern.dilation.assign(static_cast<size_t>(pattern.heads), command.dilation[0]);
    }
  }
  if (command.window.value_or(0) > 0) {
    pattern.window = Window{*command.window / 2, *command.window / 2};
  } else if (command.left) {
    pattern.window = Window{*command.left, *command.right};
  }
  if (command.causal) {
    pattern.window = Window{pattern.window ? pattern.window->left : kMaxSequence, 0};
  }
  return pattern;
}

Subject model_pattern(const PatternCommand& command) {
  ModelOptions options;
  options.model = command.model;
  options.revision = command.revision;
  options.offline = command.offline;
  const std::filesystem::path directory = model_directory(options);
  const EncoderConfig config = read_encoder_config(io::Config::read(directory / "config.json"));
  if (command.layer >= config.layers) {
    refuse("--layer is " + std::to_string(command.layer) + "; this model has the layers 0 to " +
           std::to_string(config.layers - 1));
  }
  const int64_t length = command.length.value_or(std::min(config.max_tokens(), kMaxSequence));
  if (length > config.max_tokens()) {
    refuse("--length is " + std::to_string(length) + "; this model reads at most " +
           std::to_string(config.max_tokens()) + " tokens");
  }
  const bool wants_global = !command.global.empty() && command.global != "none";
  if (wants_global && !config.global_attention) {
    refuse("--global: a " + config.model_type + " model has no global attention");
  }
  Subject subject;
  subject.pattern.heads = config.heads;
  subject.pattern.lengths = {length};
  subject.pattern.masked_query = config.masked_query;
  set_layer(config, command.layer, subject.pattern);
  subject.layer = command.layer;
  subject.place =
      "layer " + std::to_string(command.layer) + " of " + std::to_string(config.layers) + ", ";
  return subject;
}

Subject subject_of(const PatternCommand& command) {
  Subject subject;
  if (!command.model.empty()) {
    subject = model_pattern(command);
  } else if (!command.grid.empty()) {
    subject.pattern = grid_pattern(command);
  } else if (!command.length) {
    refuse("--length is missing: say how many tokens, or name a --grid or a --model");
  } else {
    subject.pattern = command.block_size ? block_pattern(command) : sequence_pattern(command);
  }
  if (command.model.empty() && command.masked_queries == "attend") {
    subject.pattern.masked_query = MaskedQuery::kAttend;
  }
  const int64_t heads = subject.pattern.heads;
  if (command.head >= heads) {
    refuse("--head is " + std::to_string(command.head) + "; the heads are 0 to " +
           std::to_string(heads - 1));
  }
  set_globals_and_valid(command, subject.pattern);
  validate(subject.pattern);
  if (heads > 1) {
    subject.place += "head " + std::to_string(command.head) + " of " + std::to_string(heads) + ", ";
  }
  return subject;
}

int64_t scores_of_all_heads(const AttentionPattern& pattern) {
  const bool alike = pattern.dilation.empty() && (!pattern.blocks || pattern.blocks->extra.empty());
  if (alike) return count_all(pattern, 0, 0).total() * pattern.heads;
  int64_t sum = 0;
  for (int64_t h = 0; h < pattern.heads; ++h) sum += count_all(pattern, 0, h).total();
  return sum;
}

double share_of(const PatternCounts& counts) {
  return static_cast<double>(counts.pairs.total()) / static_cast<double>(counts.full());
}

std::string full_counts(const PatternCounts& counts) {
  return grouped(counts.pairs.total()) + " of " + grouped(counts.full()) + ", " +
         share_text(share_of(counts));
}

std::string parts_line(const AttentionPattern& pattern, const PatternCounts& counts) {
  std::string line;
  for (const CellKind kind : kinds_of(counts)) {
    const int64_t scores = kind == CellKind::kLocal    ? counts.pairs.local
                           : kind == CellKind::kGlobal ? counts.pairs.global
                                                       : counts.pairs.listed;
    line += (line.empty() ? "" : ", ") + kind_name(pattern, kind) + " " + grouped(scores);
  }
  if (counts.padding > 0) {
    line += "; and " + grouped(counts.padding) + " of keys that fill up the boxes at the border";
  }
  return line.empty() ? "nothing is attended to" : line;
}

Json record_of(const PatternCommand& command, const Subject& subject, const PatternCounts& counts) {
  const AttentionPattern& pattern = subject.pattern;
  Json record = {{"pattern", to_string(pattern)}, {"length", counts.length}};
  record["heads"] = pattern.heads;
  record["head"] = command.head;
  record["layer"] = subject.layer ? Json(*subject.layer) : Json();
  record["scores"] = counts.pairs.total();
  record["full_scores"] = counts.full();
  record["share"] = share_of(counts);
  record["local"] = counts.pairs.local;
  record["global"] = counts.pairs.global;
  record["random"] = counts.pairs.listed;
  record["padding_scores"] = counts.padding;
  record["scores_all_heads"] = scores_of_all_heads(pattern);
  record["output"] = command.output.empty() ? Json() : Json(command.output);
  return record;
}

void write_picture(const PatternCommand& command, const Subject& subject,
                   const PatternCounts& counts) {
  const PlotText text = {
      short_counts(counts) + " (" + share_text(share_of(counts)) + ")",
      {subject.place + to_string(subject.pattern),
       grouped(counts.pairs.total()) + ": " + parts_line(subject.pattern, counts)}};
  if (command.output.ends_with(".svg")) {
    io::write_file_atomic(command.output, pattern_svg(subject.pattern, command.head, counts, text));
    return;
  }
  const Pixels pixels = pattern_pixels(subject.pattern, command.head, counts, text);
  io::write_png(command.output, pixels.rgb, pixels.width, pixels.height);
}

int run_pattern(const PatternCommand& command) {
  if (!command.output.empty() && !command.output.ends_with(".svg") &&
      !command.output.ends_with(".png")) {
    throw Error(ErrorCode::kInvalidArgument, "a picture is written as NAME.svg or NAME.png",
                "--output");
  }
  const Subject subject = subject_of(command);
  const AttentionPattern& pattern = subject.pattern;
  const PatternCounts counts = count_pattern(pattern, command.head);
  if (!command.output.empty()) write_picture(command, subject, counts);
  Output output;
  if (command.json) {
    output.line(json_text(record_of(command, subject, counts)));
    output.flush();
    return kDone;
  }
  output.line(short_counts(counts));
  output.line(full_counts(counts) + ": " + parts_line(pattern, counts));
  output.line(subject.place + to_string(pattern));
  if (command.output.empty()) {
    output.line("");
    for (const std::string& line : ascii_drawing(pattern, command.head, command.columns)) {
      output.line(line);
    }
  }
  output.flush();
  return kDone;
}

void add_shape_options(CLI::App& app, PatternCommand& command) {
  CLI::Option* model = app.add_option(
      "--model", command.model,
      "Draw a layer of this model, from its config.json alone: directory, or name in the hub "
      "cache");
  app.add_option("--revision", command.revision, "Branch, tag or commit of a model in the cache")
      ->needs(model);
  add_offline_option(app, command.offline);
  app.add_option("--layer", command.layer, "Layer of the model, from 0")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32))
      ->needs(model)
      ->capture_default_str();
  const auto reach = CLI::Range(int64_t{0}, kMaxWindow);
  CLI::Option* window =
      app.add_option("--window", command.window,
                     "Width of the window, both sides together: half of it to each; 0: everything")
          ->check(reach)
          ->excludes(model);
  CLI::Option* left = app.add_option("--window-left", command.left, "Tokens to the left that count")
                          ->check(reach)
                          ->excludes(window)
                          ->excludes(model);
  CLI::Option* right =
      app.add_option("--window-right", command.right, "Tokens to the right that count")
          ->check(reach)
          ->excludes(window)
          ->excludes(model)
          ->needs(left);
  left->needs(right);
  CLI::Option* dilation =
      app.add_option("--dilation", command.dilation,
                     "Step between the tokens of the window: one value, or one a head")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::Range(int64_t{1}, kMaxSequence))
          ->type_name("D[,D...]")
          ->excludes(model);
  CLI::Option* causal =
      app.add_flag("--causal", command.causal, "Nothing to the right of a token counts")
          ->excludes(model)
          ->excludes(right);
  CLI::Option* blocks =
      app.add_option("--block-size", command.block_size,
                     "BigBird: tokens of a block; a query sees its block, the blocks beside it, "
                     "the first and the last, and random ones")
          ->check(CLI::Range(int64_t{1}, kMaxSequence))
          ->excludes(model);
  app.add_option("--random-blocks", command.random_blocks, "BigBird: random blocks of each block")
      ->check(CLI::Range(int64_t{0}, kMaxListedBlocks))
      ->needs(blocks)
      ->capture_default_str();
  app.add_option("--seed", command.seed, "BigBird: seed of the random blocks, a layer's number")
      ->needs(blocks)
      ->capture_default_str();
  app.add_option("--random-plan", command.random_plan,
                 "BigBird: random blocks as training draws them, or the first block as often, as "
                 "the reference does elsewhere")
      ->check(CLI::IsMember({"drawn", "first"}))
      ->needs(blocks)
      ->capture_default_str();
  CLI::Option* grid = app.add_option("--grid", command.grid, "Tokens of a map, row by row")
                          ->type_name("HEIGHTxWIDTH")
                          ->excludes(model);
  CLI::Option* box =
      app.add_option("--box", command.box, "Boxes of the map; a query sees its own (Swin, SAM)")
          ->type_name("HEIGHTxWIDTH")
          ->needs(grid);
  grid->needs(box);
  app.add_option("--shift", command.shift,
                 "Shift of the boxes; given, also as 0, they are Swin's: no larger than the map")
      ->check(CLI::Range(int64_t{0}, kMaxSequence))
      ->needs(grid);
  for (CLI::Option* shape : {blocks, grid}) {
    for (CLI::Option* other : {window, left, dilation, causal}) shape->excludes(other);
  }
  blocks->excludes(grid);
  app.add_option("--heads", command.heads,
                 "Heads; by default one, one for each --dilation, or BigBird's 12")
      ->check(CLI::Range(int64_t{1}, kMaxHidden))
      ->excludes(model);
  app.add_option("--masked-queries", command.masked_queries,
                 "Whether padding attends: zero (Longformer, BigBird) or attend (BERT)")
      ->check(CLI::IsMember({"zero", "attend"}))
      ->capture_default_str()
      ->excludes(model);
}

}  // namespace

void add_pattern(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("pattern", "Count the scores of an attention pattern, and draw it");
  auto command = std::make_shared<PatternCommand>();
  app->add_option("--length", command->length,
                  "Tokens of the sequence; by default those of the grid, or what the model reads")
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->type_name("N");
  add_shape_options(*app, *command);
  app->add_option("--global", command->global,
                  "Global tokens, from 0, such as 0,7,12-20; none: no token")
      ->type_name("POSITIONS");
  app->add_option("--valid", command->valid,
                  "Positions that are no padding, such as 0-99; by default all")
      ->type_name("POSITIONS");
  app->add_option("--head", command->head, "Head to count and draw, from 0")
      ->check(CLI::Range(int64_t{0}, kMaxHidden))
      ->capture_default_str();
  app->add_option("--columns", command->columns, "Width of the drawing on the terminal")
      ->check(CLI::Range(int64_t{40}, int64_t{4096}))
      ->capture_default_str();
  app->add_option("--output", command->output,
                  "Draw into FILE.svg or FILE.png instead of the terminal")
      ->type_name("FILE");
  app->add_flag("--json", command->json, "One JSON object instead of lines and a drawing");
  commands.add(app, [command] { return run_pattern(*command); });
}

}  // namespace longformer::cli
