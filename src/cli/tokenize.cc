// tokenize: what the model reads of a text: ids, tokens and where they lie. Needs no weights.
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "tasks/model_files.h"

namespace longformer::cli {
namespace {

struct TokenizeCommand {
  ModelOptions model;
  std::vector<std::string> files;
  std::string offsets = "codepoint";
  bool json = false;
};

text::OffsetUnit unit_of(const std::string& name) {
  if (name == "byte") return text::OffsetUnit::kByte;
  if (name == "utf16") return text::OffsetUnit::kUtf16;
  return text::OffsetUnit::kCodePoint;
}

void print_json(const text::Tokenizer& tokenizer, const std::string& name,
                const text::Encoding& encoding, Output& output) {
  Json record = {{"file", name}, {"input_ids", encoding.ids}};
  Json tokens = Json::array();
  Json offsets = Json::array();
  for (size_t i = 0; i < encoding.size(); ++i) {
    tokens.push_back(tokenizer.token(encoding.ids[i]));
    offsets.push_back({encoding.offsets[i].begin, encoding.offsets[i].end});
  }
  record["tokens"] = std::move(tokens);
  record["offsets"] = std::move(offsets);
  output.line(json_text(record));
}

void print_table(const text::Tokenizer& tokenizer, const std::string& name,
                 const text::Encoding& encoding, Output& output) {
  output.line(printable(name, Lines::kJoin) + ": " +
              counted(static_cast<int64_t>(encoding.size()), "token"));
  for (size_t i = 0; i < encoding.size() && !output.closed(); ++i) {
    output.line(std::to_string(encoding.ids[i]) + "\t" + std::to_string(encoding.offsets[i].begin) +
                "\t" + std::to_string(encoding.offsets[i].end) + "\t" +
                printable(tokenizer.token(encoding.ids[i]), Lines::kJoin));
  }
}

int run_tokenize(const TokenizeCommand& command) {
  const io::DocumentList documents = find_documents(
      command.files.empty() ? std::vector<std::string>{"-"} : command.files, io::Copies::kEach);
  if (documents.names.empty()) {
    notice("nothing to tokenize: none of the files is usable");
    return kUsage;
  }
  const text::Tokenizer tokenizer = tasks::load_tokenizer(model_directory(command.model));
  Output output;
  int64_t done = 0;
  std::vector<std::string> replaced;
  std::vector<io::SkippedFile> skipped;
  for (const std::string& name : documents.names) {
    if (output.closed()) return kDone;
    std::optional<io::Document> document;
    try {
      document = io::read_document(name);
    } catch (const Error& error) {
      skipped.push_back({name, error.what()});
      continue;
    }
    text::Encoding encoding = tokenizer.encode(document->text);
    text::convert_offsets(document->text, unit_of(command.offsets), encoding.offsets);
    if (command.json) {
      print_json(tokenizer, name, encoding, output);
    } else {
      print_table(tokenizer, name, encoding, output);
    }
    ++done;
    if (document->replaced) replaced.push_back(name);
  }
  output.flush();
  report_skipped(skipped);
  report_replaced(replaced);
  return exit_code(done, documents.skipped.size() + skipped.size());
}

}  // namespace

void add_tokenize(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("tokenize", "Show what the model reads of a text: ids, tokens, offsets");
  auto command = std::make_shared<TokenizeCommand>();
  app->add_option("--model", command->model.model,
                  "Directory with tokenizer.json or vocab.txt; without it, the default model");
  app->add_option("files", command->files,
                  "Text files, gzip too; directories; - or nothing for standard input")
      ->type_name("FILES");
  app->add_option("--offsets", command->offsets, "Unit of the offsets")
      ->check(CLI::IsMember({"codepoint", "byte", "utf16"}))
      ->capture_default_str();
  app->add_flag("--json", command->json,
                "One JSON object a document: file, input_ids, tokens, offsets");
  commands.add(app, [command] { return run_tokenize(*command); });
}

}  // namespace longformer::cli
