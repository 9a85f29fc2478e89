// attend: where the tokens of a document look. The strongest links as lines or JSON, and an HTML
// page on which a person sees those of each token.
#include "tasks/attend.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/limits.h"
#include "cli/attend_page.h"
#include "cli/command.h"
#include "cli/document_options.h"
#include "cli/head_options.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "io/config.h"
#include "io/files.h"
#include "models/heads.h"
#include "tasks/global_rule.h"
#include "tasks/model_files.h"
#include "tasks/windows.h"

namespace longformer::cli {
namespace {

constexpr int64_t kMostLinks = 1'000'000;
constexpr int64_t kMostTopK = 64;

struct AttendCommand {
  ModelOptions model;
  LoadOverrides overrides;
  DocumentOptions documents;
  std::string file;
  std::optional<int64_t> window;
  std::string global;
  tasks::AttendOptions attend;
  std::string page;
  bool json = false;
};

// The document as the model reads it.
struct Text {
  std::string text;
  text::Encoding tokens;  // of the document or of one window, special tokens included
  int64_t begin = 0;      // what the window covers, bytes
  int64_t end = 0;
  std::vector<int64_t> lines;  // of each token
};

// Tokens of the document that stand around those of a window.
int64_t furthest(const EncoderInfo& info, int64_t capacity) {
  int64_t reach = info.attention_window.empty() ? capacity : 0;
  for (size_t layer = 0; layer < info.attention_window.size(); ++layer) {
    const int64_t step =
        layer < info.attention_dilation.size() ? info.attention_dilation[layer] : 1;
    const int64_t window = info.attention_window[layer];
    reach = std::max(reach, window == 0 ? capacity : window / 2 * step);
  }
  return std::min(reach, capacity);
}

tasks::Window choose_window(const AttendCommand& command, const EncoderInfo& info, int64_t tokens,
                            int64_t special) {
  const int64_t capacity = info.max_tokens - special;
  const std::vector<tasks::Window> windows = tasks::plan_windows(
      tokens, capacity, tasks::window_overlap(capacity, furthest(info, capacity)));
  const auto count = static_cast<int64_t>(windows.size());
  if (count == 0) {
    throw Error(ErrorCode::kInvalidFile, "no token in it; give a file with text",
                printable(command.file, Lines::kJoin));
  }
  if (!command.window && count > 1) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(tokens) + " tokens and the model reads " +
                    std::to_string(capacity) + " at once: choose one of its " +
                    std::to_string(count) + " windows, --window 0 to --window " +
                    std::to_string(count - 1) + ", or give a shorter text or a longer model",
                printable(command.file, Lines::kJoin));
  }
  const int64_t chosen = command.window.value_or(0);
  if (chosen >= count) {
    throw Error(ErrorCode::kInvalidArgument, "--window " + std::to_string(chosen) +
                                                 ": this document has windows 0 to " +
                                                 std::to_string(count - 1));
  }
  return windows[static_cast<size_t>(chosen)];
}

void append_special(const std::vector<int64_t>& ids, text::Encoding& tokens) {
  for (const int64_t id : ids) {
    tokens.ids.push_back(id);
    tokens.type_ids.push_back(0);
    tokens.offsets.push_back({});
    tokens.sequence.push_back(-1);
    tokens.words.push_back(-1);
  }
}

void set_lines(Text& text) {
  int64_t line = 1 + std::count(text.text.begin(), text.text.begin() + text.begin, '\n');
  int64_t at = text.begin;
  for (size_t t = 0; t < text.tokens.size(); ++t) {
    const int64_t begin = text.tokens.sequence[t] < 0 ? at : text.tokens.offsets[t].begin;
    for (; at < begin; ++at) line += text.text[static_cast<size_t>(at)] == '\n';
    text.lines.push_back(line);
  }
}

Text read_text(const AttendCommand& command, const EncoderInfo& info,
               const text::Tokenizer& tokenizer) {
  Text result;
  bool replaced = false;
  try {
    result.text = read_whole_document(command.file, command.documents.read, replaced);
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), printable(command.file, Lines::kJoin));
  }
  if (replaced) report_replaced({command.file});
  const text::Encoding all = tokenizer.encode(result.text, {.add_special_tokens = false});
  const std::vector<int64_t> prefix = tokenizer.special_prefix();
  const std::vector<int64_t> suffix = tokenizer.special_suffix();
  const auto count = static_cast<int64_t>(all.size());
  const tasks::Window window =
      choose_window(command, info, count, static_cast<int64_t>(prefix.size() + suffix.size()));
  text::Encoding& tokens = result.tokens;
  append_special(prefix, tokens);
  for (int64_t i = window.begin; i < window.end; ++i) {
    const auto at = static_cast<size_t>(i);
    tokens.ids.push_back(all.ids[at]);
    tokens.type_ids.push_back(0);
    tokens.offsets.push_back(all.offsets[at]);
    tokens.sequence.push_back(0);
    tokens.words.push_back(all.words[at]);
  }
  append_special(suffix, tokens);
  result.begin = window.begin == 0 ? 0 : all.offsets[static_cast<size_t>(window.begin)].begin;
  result.end = window.end == count ? static_cast<int64_t>(result.text.size())
                                   : all.offsets[static_cast<size_t>(window.end) - 1].end;
  set_lines(result);
  return result;
}

// A token as a reader knows it: its text, or what the vocabulary calls it.
std::string shown(const Text& text, const text::Tokenizer& tokenizer, int32_t token) {
  const auto at = static_cast<size_t>(token);
  if (text.tokens.sequence[at] < 0)
    return printable(tokenizer.token(text.tokens.ids[at]), Lines::kJoin);
  const text::Offset& offset = text.tokens.offsets[at];
  const std::string own = text.text.substr(static_cast<size_t>(offset.begin),
                                           static_cast<size_t>(offset.end - offset.begin));
  return printable(own, Lines::kJoin);
}

void print_links(const Text& text, const text::Tokenizer& tokenizer, const tasks::Attended& links,
                 Output& output) {
  output.line(view_name(links.views.front()) + ": the strongest links");
  const auto end = [&](int32_t token) {
    return shown(text, tokenizer, token) + " (line " +
           std::to_string(text.lines[static_cast<size_t>(token)]) + ", token " +
           std::to_string(token) + ")";
  };
  for (const tasks::AttendLink& link : links.strongest) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.4f  %+6d  ", static_cast<double>(link.weight),
                  link.to - link.from);
    output.line(numbers + end(link.from) + " -> " + end(link.to));
  }
}

void print_json(const Text& text, const text::Tokenizer& tokenizer, const tasks::Attended& links,
                Output& output) {
  std::vector<text::Offset> characters = text.tokens.offsets;
  text::convert_offsets(text.text, text::OffsetUnit::kCodePoint, characters);
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const tasks::AttendView& view = links.views.front();
  int64_t rank = 0;
  for (const tasks::AttendLink& link : links.strongest) {
    const auto place = [&](int32_t token, bool behind) {
      const auto at = static_cast<size_t>(token);
      if (text.tokens.sequence[at] < 0) return Json(nullptr);
      return Json(behind ? characters[at].end : characters[at].begin);
    };
    const auto from = static_cast<size_t>(link.from);
    const auto to = static_cast<size_t>(link.to);
    output.line(json_text({{"rank", ++rank},
                           {"weight", link.weight},
                           {"layer", number(view.layer)},
                           {"head", number(view.head)},
                           {"from", link.from},
                           {"to", link.to},
                           {"distance", link.to - link.from},
                           {"from_token", tokenizer.token(text.tokens.ids[from])},
                           {"to_token", tokenizer.token(text.tokens.ids[to])},
                           {"from_start", place(link.from, false)},
                           {"from_end", place(link.from, true)},
                           {"to_start", place(link.to, false)},
                           {"to_end", place(link.to, true)},
                           {"from_line", text.lines[from]},
                           {"to_line", text.lines[to]}}));
  }
}

void write_page(io::AtomicFile& file, const AttendCommand& command, const std::string& model,
                const Text& text, const text::Tokenizer& tokenizer,
                const std::vector<uint8_t>& global, const tasks::Attended& links) {
  AttendPage page;
  page.title = command.file == "-" ? "standard input" : command.file;
  page.text = text.text;
  page.begin = text.begin;
  page.end = text.end;
  page.tokens = &text.tokens;
  for (const int64_t id : text.tokens.ids) page.spellings.push_back(tokenizer.token(id));
  page.global = global;
  page.lines = text.lines;
  page.links = &links;
  page.self_links = command.attend.self_links;
  page.special_links = command.attend.special_links;
  const int64_t kept = page_links(page);
  const auto globals = std::count(global.begin(), global.end(), uint8_t{1});
  page.summary = "Where the " + counted(links.tokens, "token") + " look, read by " + model +
                 (command.window ? ", window " + std::to_string(*command.window) : "") +
                 (globals > 0 ? ", " + counted(globals, "global token") : "") + ": the " +
                 counted(kept, "strongest link") + " of each, in both directions.";
  file.write(attend_page(page));
  file.commit();
  if (kept < links.top_k) {
    notice("the page holds " + counted(kept, "link") +
           " of a token and direction, to stay below 5 MB; more of them with --layer and --head");
  }
}

int run_attend(const AttendCommand& command) {
  std::optional<io::AtomicFile> page;  // opened now: a wrong path is said before the work
  if (!command.page.empty()) {
    io::refuse_same_file(command.page, command.file);
    page.emplace(command.page);
  }
  const std::filesystem::path directory = model_directory(command.model);
  LoadOptions load{.threads = command.model.threads};
  apply(command.overrides, load);
  const io::Config config = io::Config::read(directory / "config.json");
  const TaskInfo task = bare_info(config, read_encoder_config(config));
  std::optional<tasks::GlobalRule> rule;
  if (!command.global.empty()) rule = tasks::GlobalRule::parse(command.global, task);
  Encoder encoder = Encoder::load(directory, load);
  report_overrides(encoder.info());
  const text::Tokenizer tokenizer = tasks::load_tokenizer(directory);
  tasks::check_vocabulary(tokenizer, encoder.info(), directory);
  const Text text = read_text(command, encoder.info(), tokenizer);
  std::vector<uint8_t> global;
  if (rule && task.global_attention) {
    global = rule->apply(task, text.tokens, rule->find(text.text), {});
  }
  ProgressBar bar;
  tasks::AttendOptions options = command.attend;
  if (bar.visible()) {
    options.progress = [&](int64_t done, int64_t total) {
      bar.update(static_cast<double>(done) / static_cast<double>(total));
    };
  }
  const tasks::Attended links = tasks::attend(encoder, text.tokens, global, options);
  bar.clear();
  Output output;
  if (command.json) {
    print_json(text, tokenizer, links, output);
  } else {
    print_links(text, tokenizer, links, output);
  }
  output.flush();
  if (page) {
    const std::string model =
        directory.filename().empty() ? directory.parent_path().filename() : directory.filename();
    write_page(*page, command, model, text, tokenizer, global, links);
  }
  return links.strongest.empty() && command.attend.strongest > 0 ? kNothingFound : kDone;
}

}  // namespace

void add_attend(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "attend", "Show where the tokens of a document look: the strongest links, and an HTML page");
  auto command = std::make_shared<AttendCommand>();
  add_model_options(*app, command->model);
  add_load_options(*app, command->overrides);
  add_global_option(*app, command->global);
  app->add_option("file", command->file, "The document: text, Markdown, HTML, PDF, …; - for input")
      ->type_name("FILE")
      ->required();
  app->add_option("--window", command->window,
                  "Of a document that is longer than the model: the window to read, from 0")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  tasks::AttendOptions& attend = command->attend;
  app->add_option("--layer", attend.layer, "From 0; default: the average of all layers")
      ->check(CLI::Range(int64_t{0}, kMaxSequence));
  app->add_option("--head", attend.head, "From 0; default: the average of all heads")
      ->check(CLI::Range(int64_t{0}, kMaxSequence));
  app->add_option("--links", attend.strongest, "Strongest links of the document that are printed")
      ->check(CLI::Range(int64_t{0}, kMostLinks))
      ->capture_default_str();
  app->add_option("--top-k", attend.top_k, "Links of each token that the page holds, a direction")
      ->check(CLI::Range(int64_t{1}, kMostTopK))
      ->capture_default_str();
  add_boolean(*app, "--self", attend.self_links, "Count a token's look at itself");
  add_boolean(*app, "--special", attend.special_links, "Count links from and to special tokens");
  app->add_option("--output", command->page, "Write the page to this file")->type_name("PAGE");
  app->add_flag("--json", command->json, "One JSON object a link");
  commands.add(app, [command] { return run_attend(*command); });
}

}  // namespace longformer::cli
