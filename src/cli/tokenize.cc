// tokenize: what the model reads of a text: ids, tokens and where they lie; and back. Needs no
// weights.
#include <exception>
#include <memory>
#include <optional>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/decode_ids.h"
#include "cli/document_options.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "cli/token_output.h"
#include "longformer/error.h"
#include "tasks/model_files.h"
#include "text/files/json.h"

namespace longformer::cli {
namespace {

constexpr size_t kMaxWords = 4'000'000;  // in one list

struct TokenizeCommand {
  ModelOptions model;
  DocumentOptions documents;
  std::vector<std::string> files;
  std::string pair;
  std::string offsets = "codepoint";
  int64_t max_length = 0;  // 0: never cut
  int64_t stride = 0;
  std::string truncation = "longest-first";
  std::string truncation_side = "right";
  bool words = false;
  bool special_tokens = true;
  bool decode = false;
  bool skip_special_tokens = true;
  bool json = false;
};

text::OffsetUnit unit_of(const std::string& name) {
  if (name == "byte") return text::OffsetUnit::kByte;
  if (name == "utf16") return text::OffsetUnit::kUtf16;
  return text::OffsetUnit::kCodePoint;
}

text::TruncationSettings truncation_of(const TokenizeCommand& command) {
  text::TruncationSettings settings;
  settings.max_length = command.max_length;
  settings.stride = command.stride;
  settings.side = command.truncation_side == "left" ? text::Side::kLeft : text::Side::kRight;
  if (command.truncation == "only-first") settings.strategy = text::Truncation::kOnlyFirst;
  if (command.truncation == "only-second") settings.strategy = text::Truncation::kOnlySecond;
  return settings;
}

void check_word_count(size_t count) {
  if (count > kMaxWords) {
    throw Error(ErrorCode::kInvalidFile,
                "more than " + std::to_string(kMaxWords) + " words in one list");
  }
}

// A JSON list of strings.
std::vector<std::string> words_of_json(const std::string& text) {
  const text::Json json = text::parse_json(text, kMaxDocumentBytes, "");
  const auto refuse = [] {
    throw Error(ErrorCode::kInvalidFile, "with --words a .json file must be a list of strings");
  };
  if (!json.is_array()) refuse();
  check_word_count(json.size());
  std::vector<std::string> words;
  for (const text::Json& word : json) {
    if (!word.is_string()) refuse();
    words.push_back(word.get<std::string>());
  }
  return words;
}

// One word a line; an empty line is a word without tokens, so that word N stands in line N + 1.
std::vector<std::string> words_of_lines(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool carriage = end > begin && text[end - 1] == '\r';
    words.push_back(text.substr(begin, end - begin - (carriage ? 1 : 0)));
    check_word_count(words.size());
    begin = end + 1;
  }
  return words;
}

TokenSource source_of(std::string text, const std::string& name, bool words) {
  TokenSource source;
  source.is_split = words;
  if (!words) {
    source.text = std::move(text);
  } else {
    source.words = name.ends_with(".json") ? words_of_json(text) : words_of_lines(text);
  }
  return source;
}

// The work of one call: reads the files one after the other and prints their records.
class Run {
 public:
  explicit Run(const TokenizeCommand& command)
      : command_(command),
        unit_(unit_of(command.offsets)),
        tokenizer_(tasks::load_tokenizer(model_directory(command.model))) {
    settings_.add_special_tokens = command.special_tokens;
    if (command.pair.empty()) return;
    bool replaced = false;
    try {
      second_ = source_of(read_whole_document(command.pair, command.documents.read, replaced),
                          command.pair, command.words);
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), "--pair " + printable(command.pair, Lines::kJoin));
    }
    if (replaced) replaced_.push_back(command.pair);
  }

  int run() {
    const io::DocumentList documents =
        find_documents(command_.files.empty() ? std::vector<std::string>{"-"} : command_.files,
                       command_.documents.list);
    if (documents.names.empty()) {
      notice("nothing to tokenize: none of the files is usable");
      return kUsage;
    }
    if (!command_.decode) check_settings();
    for (const std::string& name : documents.names) {
      read(name);
      if (output_.closed()) return kDone;
    }
    output_.flush();
    report_skipped(skipped_);
    report_replaced(replaced_);
    report();
    return exit_code(done_, documents.skipped.size() + skipped_.size());
  }

 private:
  // Settings that no text could meet fail here, once, and not for each file.
  void check_settings() const {
    const TokenSource empty;
    encode(empty);
  }

  std::vector<text::Encoding> encode(const TokenSource& source) const {
    const text::TextInput first = source.input();
    if (command_.max_length > 0) {
      std::optional<text::TextInput> second;
      if (second_) second = second_->input();
      return tokenizer_.encode_windows(first, second, settings_, truncation_of(command_));
    }
    std::vector<text::Encoding> windows;
    windows.push_back(second_ ? tokenizer_.encode_pair(first, second_->input(), settings_)
                              : tokenizer_.encode(first, settings_));
    return windows;
  }

  // Prints a file; one that cannot be read is skipped, with the reason.
  void read(const std::string& name) {
    window_ = 0;
    before_ = 0;
    bool replaced = false;
    try {
      if (command_.words) {
        print_text(name, source_of(read_whole_document(name, command_.documents.read, replaced),
                                   name, true));
      } else {
        int64_t line = 0;
        io::read_document(name, command_.documents.read, [&](io::Document part) {
          replaced = replaced || part.replaced;
          if (output_.closed()) return;
          if (command_.decode) {
            print_decoded(name, part.text, line);
          } else {
            print_text(name, source_of(std::move(part.text), name, false));
          }
        });
      }
    } catch (const Error& error) {
      if (output_error_) std::rethrow_exception(output_error_);
      skipped_.push_back({name, error.what()});
      return;
    }
    ++done_;
    if (replaced) replaced_.push_back(name);
  }

  // One part of a text file, or the whole of any other.
  void print_text(const std::string& name, const TokenSource& source) {
    std::vector<text::Encoding> windows = encode(source);
    convert_spans(windows, {&source, before_}, second_ ? &*second_ : nullptr, unit_);
    if (!source.is_split) before_ += count_units(source.text, unit_);
    ++texts_;
    if (windows.size() > 1) ++cut_;
    for (const text::Encoding& window : windows) {
      print([&] {
        if (command_.json) {
          output_.line(window_json(tokenizer_, name, window_, window));
        } else {
          std::string title = printable(name, Lines::kJoin);
          if (windows.size() > 1 || window_ > 0) title += ", window " + std::to_string(window_);
          print_window(tokenizer_, title, window, output_);
        }
      });
      ++window_;
    }
  }

  // Each line is a list of ids; `number` counts the lines of the file.
  void print_decoded(const std::string& name, const std::string& text, int64_t& number) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      ++number;
      std::vector<int64_t> ids;
      try {
        ids = parse_id_line(std::string_view(text).substr(begin, end - begin));
      } catch (const Error& error) {
        throw Error(error.code(), error.what(), "line " + std::to_string(number));
      }
      begin = end + 1;
      for (const int64_t id : ids) unknown_ += !tokenizer_.has_token(id);
      const std::string decoded = tokenizer_.decode(ids, command_.skip_special_tokens);
      print([&] {
        output_.line(command_.json
                         ? json_text({{"file", name}, {"line", number}, {"text", decoded}})
                         : decoded);
      });
    }
  }

  // A failure to print ends the command; it is no fault of the file.
  template <class Print>
  void print(const Print& print_record) {
    try {
      print_record();
    } catch (...) {
      output_error_ = std::current_exception();
      throw;
    }
  }

  void report() const {
    if (cut_ > 0) {
      notice(std::to_string(cut_) + " of " + counted(texts_, "text") +
             (cut_ == 1 ? " does" : " do") + " not fit in " + std::to_string(command_.max_length) +
             " tokens: printed in windows, nothing left out");
    }
    if (unknown_ > 0) {
      notice(counted(unknown_, "id") + (unknown_ == 1 ? " has" : " have") +
             " no token in this vocabulary and gave no text");
    }
  }

  const TokenizeCommand& command_;
  text::OffsetUnit unit_;
  text::Tokenizer tokenizer_;
  text::EncodeSettings settings_;
  std::optional<TokenSource> second_;
  Output output_;
  std::exception_ptr output_error_;
  int64_t window_ = 0;  // of the file that is being read
  int64_t before_ = 0;  // of its text that was read: units
  int64_t done_ = 0;
  int64_t texts_ = 0;
  int64_t cut_ = 0;
  int64_t unknown_ = 0;
  std::vector<std::string> replaced_;
  std::vector<io::SkippedFile> skipped_;
};

int run_tokenize(const TokenizeCommand& command) {
  if (command.truncation == "only-second" && command.pair.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "only-second needs a second text; name it with --pair",
                "--truncation");
  }
  const bool reads_stdin =
      command.files.empty() || std::count(command.files.begin(), command.files.end(), "-") > 0;
  if (command.pair == "-" && reads_stdin) {
    throw Error(ErrorCode::kInvalidArgument,
                "standard input can be only one of the two texts; name a file for the other",
                "--pair");
  }
  return Run(command).run();
}

void add_cutting(CLI::App& app, TokenizeCommand& command) {
  CLI::Option* length = app.add_option("--max-length", command.max_length,
                                       "Cut texts to windows of at most so many tokens, special "
                                       "tokens included, and print them all; "
                                       "by default nothing is cut");
  length->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--truncation", command.truncation, "Which of two texts is cut")
      ->check(CLI::IsMember({"longest-first", "only-first", "only-second"}))
      ->needs(length)
      ->capture_default_str();
  app.add_option("--truncation-side", command.truncation_side,
                 "The end that the first window lacks; left: windows come from the end of the text")
      ->check(CLI::IsMember({"right", "left"}))
      ->needs(length)
      ->capture_default_str();
  app.add_option("--stride", command.stride, "Tokens that neighbouring windows share")
      ->check(CLI::Range(int64_t{0}, kMaxSequence))
      ->needs(length)
      ->capture_default_str();
}

}  // namespace

void add_tokenize(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "tokenize", "Show what the model reads of a text: ids, tokens, offsets; or text of ids");
  auto command = std::make_shared<TokenizeCommand>();
  app->add_option(
      "--model", command->model.model,
      "Directory with tokenizer files, or name in the hub cache; without it, the default "
      "model");
  app->add_option("--revision", command->model.revision,
                  "Branch, tag or commit of a model in the hub cache; by default main");
  add_offline_option(*app, command->model.offline);
  app->add_option("files", command->files,
                  "Files: text, Markdown, HTML, PDF, DOCX, ODT, gzip of them; directories; - or "
                  "nothing for standard input")
      ->type_name("FILES");
  add_document_options(*app, io::Copies::kEach, command->documents);
  CLI::Option* pair =
      app->add_option("--pair", command->pair, "A second text, for each of the files")
          ->type_name("FILE");
  app->add_option("--offsets", command->offsets, "Unit of the offsets")
      ->check(CLI::IsMember({"codepoint", "byte", "utf16"}))
      ->capture_default_str();
  add_cutting(*app, *command);
  CLI::Option* words = app->add_flag(
      "--words", command->words,
      "The texts are split already: one word a line, or a list of strings in a .json file. Offsets "
      "count inside each word");
  CLI::Option* special = add_boolean(*app, "--special-tokens", command->special_tokens,
                                     "Add the special tokens that the model expects");
  CLI::Option* decode = app->add_flag(
      "--decode", command->decode,
      "The files hold ids, one list a line: numbers, a JSON list, or what tokenize --json prints. "
      "Prints their text");
  for (CLI::Option* other : {pair, words, special}) decode->excludes(other);
  for (const char* other : {"--offsets", "--max-length"}) decode->excludes(other);
  add_boolean(*app, "--skip-special-tokens", command->skip_special_tokens,
              "Leave special tokens out of the text")
      ->needs(decode);
  app->add_flag("--json", command->json,
                "One JSON object a window: file, window, input_ids, tokens, offsets, type_ids, "
                "sequence_ids, words; with --decode one a line: file, line, text");
  commands.add(app, [command] { return run_tokenize(*command); });
}

}  // namespace longformer::cli
