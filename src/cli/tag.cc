// tag: entities in texts, by a token classifier.
#include "tasks/tag.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tag_formats.h"
#include "cli/text_task_options.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

using tasks::Aggregation;
using tasks::LabelScheme;

enum class Format { kJsonl, kConll, kBrat };

const std::map<std::string, Aggregation> kAggregations = {{"none", Aggregation::kNone},
                                                          {"simple", Aggregation::kSimple},
                                                          {"first", Aggregation::kFirst},
                                                          {"average", Aggregation::kAverage},
                                                          {"max", Aggregation::kMax}};
const std::map<std::string, std::optional<LabelScheme>> kSchemes = {
    {"auto", std::nullopt}, {"bio", LabelScheme::kBio}, {"bioes", LabelScheme::kBioes}};
const std::map<std::string, Format> kFormats = {
    {"jsonl", Format::kJsonl}, {"conll", Format::kConll}, {"brat", Format::kBrat}};

struct TagCommand {
  TextTaskOptions task;
  bool field_given = false;
  std::string aggregation = "simple";
  std::string scheme = "auto";
  std::string format = "jsonl";
  std::vector<std::string> ignore_labels = {"O"};
  bool ignore_labels_given = false;
  double threshold = 0;
  std::optional<int64_t> stride;
};

tasks::TagOptions tag_options(const TagCommand& command) {
  tasks::TagOptions options;
  options.aggregation = kAggregations.at(command.aggregation);
  options.scheme = kSchemes.at(command.scheme);
  options.ignore_labels = command.ignore_labels;
  // --ignore-labels "" leaves nothing out.
  std::erase(options.ignore_labels, "");
  options.threshold = command.threshold;
  options.stride = command.stride;
  return options;
}

// What entities can be called.
std::set<std::string> entity_names(const TaskInfo& info, const tasks::TagOptions& options) {
  std::set<std::string> names;
  const tasks::LabelRules rules(info.labels,
                                options.scheme.value_or(tasks::detect_scheme(info.labels)));
  for (size_t label = 0; label < info.labels.size(); ++label) {
    const bool grouped = options.aggregation != Aggregation::kNone;
    names.insert(grouped ? rules.name(label) : info.labels[label]);
  }
  return names;
}

// Lines of a text, from 1.
class LineNumbers {
 public:
  explicit LineNumbers(const std::string& text) {
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
      ends_.push_back(static_cast<int64_t>(at));
    }
  }
  int64_t of(int64_t byte) const {
    return 1 + (std::lower_bound(ends_.begin(), ends_.end(), byte) - ends_.begin());
  }

 private:
  std::vector<int64_t> ends_;
};

class Tagging {
 public:
  Tagging(const TagCommand& command, std::unique_ptr<RecordSink> sink, LoadedTask& task)
      : command_(command),
        options_(tag_options(command)),
        format_(kFormats.at(command.format)),
        run_(command.task, "tag", std::move(sink)),
        task_(task) {}

  int run() {
    TaskSteps steps;
    steps.take = [this](TaskInput input) { return take(std::move(input)); };
    steps.compute = [this](const auto& answer) { compute(answer); };
    steps.human = [](const Json& record) { return human(record); };
    const int code = run_.run(steps, task_.model.max_tokens());
    const bool lines = !command_.task.input.empty();
    return code == kDone && entities_ == 0 && !lines ? kNothingFound : code;
  }

 private:
  struct Source {
    Json start;
    io::Document document;  // its text only where it has pages
    std::optional<int64_t> line;
  };

  // The words of a line: a list of strings under --field, or, where nobody named that, under
  // "words" when there is no text.
  std::optional<std::vector<std::string>> words_of(const TaskInput& input) const {
    if (!input.line) return {};
    const bool fallback = !command_.field_given && !input.record.contains(command_.task.field);
    const std::string field = fallback ? "words" : command_.task.field;
    const auto found = input.record.find(field);
    if (found == input.record.end() || !found->is_array()) return {};
    std::vector<std::string> words;
    for (const Json& word : *found) {
      if (!word.is_string()) {
        throw Error(ErrorCode::kInvalidArgument,
                    "the field " + io::short_value(Json(field)) +
                        " must be a string or a list of strings, and a member of the list is " +
                        std::string(word.type_name()));
      }
      words.push_back(word.get<std::string>());
    }
    return words;
  }

  int64_t take(TaskInput input) {
    if (const auto words = words_of(input)) {
      inputs_.push_back(tasks::tag_input(task_.model, std::span<const std::string>(*words)));
    } else {
      inputs_.push_back(tasks::tag_input(task_.model, text_of(command_.task, input)));
    }
    Json start = input.record_start();
    if (input.document.pages.empty()) input.document.text.clear();
    sources_.push_back({std::move(start), std::move(input.document), input.line});
    return static_cast<int64_t>(inputs_.back().tokens.size());
  }

  void compute(const std::function<void(const TaskAnswer&)>& answer) {
    tasks::tag(task_.model, inputs_, options_, run_.settings(task_),
               [&](size_t index, const tasks::TaggedText& tagged) {
                 entities_ += std::ssize(tagged.entities);
                 TaskAnswer result;
                 result.windows = tagged.windows;
                 result.records.push_back(record_of(index, tagged));
                 answer(result);
               });
    inputs_.clear();
    sources_.clear();
  }

  std::vector<std::string> labels_of(const tasks::TaggedText& tagged) const {
    return tasks::word_labels(tagged, task_.model.model.info().labels, options_);
  }

  Json record_of(size_t index, const tasks::TaggedText& tagged) const {
    const tasks::TagInput& input = inputs_[index];
    const Source& source = sources_[index];
    if (format_ == Format::kConll) return {{"lines", conll_lines(input, labels_of(tagged))}};
    if (format_ == Format::kBrat) {
      return {{"name", brat_name(source.document.name, source.line)},
              {"text", input.text},
              {"lines", brat_lines(input.text, tagged.entities)}};
    }
    const LineNumbers lines(input.text);
    Json entities = Json::array();
    for (const tasks::TextEntity& entity : tagged.entities) {
      entities.push_back(entity_json(input, source, lines, entity));
    }
    Json record = source.start;
    record["entities"] = std::move(entities);
    record["labels"] = input.split ? Json(labels_of(tagged)) : Json::array();
    record["tokens"] = input.tokens.size();
    record["windows"] = tagged.windows;
    record["global_tokens"] = tagged.global_tokens;
    return record;
  }

  Json entity_json(const tasks::TagInput& input, const Source& source, const LineNumbers& lines,
                   const tasks::TextEntity& entity) const {
    const bool grouped = options_.aggregation != Aggregation::kNone;
    Json json = {{grouped ? "entity_group" : "entity", entity.label},
                 {"score", json_number(entity.score)}};
    if (!grouped) json["index"] = entity.index;
    const auto [begin, end] = entity.bytes;
    json["word"] = entity.word;
    json["start"] = entity.characters.begin;
    json["end"] = entity.characters.end;
    json["byte_start"] = begin;
    json["byte_end"] = end;
    json["line_start"] = lines.of(begin);
    json["line_end"] = lines.of(std::max(begin, end - 1));
    if (!source.document.pages.empty()) {
      const io::Citation citation = io::cite(source.document, begin, end);
      json["page_start"] = citation.page_start.value_or(1);
      json["page_end"] = citation.page_end.value_or(1);
    }
    if (input.split) {
      json["word_start"] = entity.first_word;
      json["word_end"] = entity.end_word;
    }
    json["text"] = input.text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    return json;
  }

  // "0.9987  PER  Ada Byron  (line 3)"
  static std::string human(const Json& record) {
    if (record["entities"].empty()) return "no entities";
    std::string lines;
    for (const Json& entity : record["entities"]) {
      const std::string label = entity.value("entity_group", entity.value("entity", std::string()));
      lines += (lines.empty() ? "" : "\n") + human_score(entity["score"]) + "  " +
               printable(label, Lines::kJoin) + "  " +
               printable(entity["text"].get<std::string>(), Lines::kJoin) + "  (line " +
               std::to_string(entity["line_start"].get<int64_t>()) + ", " +
               std::to_string(entity["start"].get<int64_t>()) + "-" +
               std::to_string(entity["end"].get<int64_t>()) + ")";
    }
    return lines;
  }

  const TagCommand& command_;
  tasks::TagOptions options_;
  Format format_;
  TextTaskRun run_;
  LoadedTask& task_;
  std::vector<tasks::TagInput> inputs_;  // taken, not yet computed
  std::vector<Source> sources_;
  int64_t entities_ = 0;
};

void check(const TagCommand& command) {
  const Format format = kFormats.at(command.format);
  if (format != Format::kJsonl && command.task.json) {
    throw Error(ErrorCode::kInvalidArgument,
                "--json writes JSON lines; leave it out, or use --format jsonl", "--format");
  }
  if (format == Format::kBrat && command.task.output.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "brat reads directories: name a new one with --output",
                "--format");
  }
  if (command.stride && kAggregations.at(command.aggregation) == Aggregation::kNone) {
    throw Error(ErrorCode::kInvalidArgument,
                "merges entities of windows, and --aggregation none makes no entities", "--stride");
  }
}

void check_labels(const TagCommand& command, const TaskInfo& info) {
  tasks::TagOptions options = tag_options(command);
  const std::set<std::string> names = entity_names(info, options);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  for (const std::string& label : options.ignore_labels) {
    if (names.count(label) > 0) continue;
    if (!command.ignore_labels_given) {
      notice(
          "the model has no label O, so every word is part of an entity; leave some out with "
          "--ignore-labels: " +
          printable(known, Lines::kJoin));
      return;
    }
    throw Error(ErrorCode::kInvalidArgument,
                io::short_value(Json(label)) + " is the name of no entity; there are " + known,
                "--ignore-labels");
  }
}

void report_words(const TagCommand& command, const LoadedTask& task) {
  const Aggregation aggregation = kAggregations.at(command.aggregation);
  if (aggregation == Aggregation::kNone || aggregation == Aggregation::kSimple) return;
  if (task.model.tokenizer.marks_continuations()) return;
  notice(
      "the tokenizer does not mark which tokens go on with a word: what has no space between "
      "is taken for one word, punctuation too");
}

// A directory appears whole, or not at all when nothing in it would be of use.
int run_brat(const TagCommand& command, LoadedTask& task) {
  struct NothingUsable {};
  int code = kUsage;
  std::set<std::string> types;
  const tasks::TagOptions options = tag_options(command);
  for (const std::string& name : entity_names(task.model.model.info(), options)) {
    const auto& ignored = options.ignore_labels;
    if (std::find(ignored.begin(), ignored.end(), name) == ignored.end()) {
      types.insert(brat_type(name));
    }
  }
  try {
    io::write_directory_atomic(command.task.output, [&](const std::filesystem::path& temporary) {
      code = Tagging(command, brat_sink(temporary.string(), types), task).run();
      if (code == kUsage) throw NothingUsable();
    });
  } catch (const NothingUsable&) {
    return kUsage;
  }
  return code;
}

int run_tag(const TagCommand& command) {
  check(command);
  const Format format = kFormats.at(command.format);
  if (format == Format::kBrat) io::check_new_directory(command.task.output);
  LoadedTask task = load_task(command.task, Task::kTokenClassification);
  check_labels(command, task.model.model.info());
  report_words(command, task);
  switch (format) {
    case Format::kBrat:
      return run_brat(command, task);
    case Format::kConll:
      return Tagging(command, conll_sink(command.task.output), task).run();
    case Format::kJsonl:
      break;
  }
  return Tagging(command, nullptr, task).run();
}

std::vector<std::string> names_of(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

}  // namespace

void add_tag(CLI::App& root, Commands& commands) {
  CLI::App* app = root.add_subcommand("tag", "Entities in texts, by a token classifier");
  auto command = std::make_shared<TagCommand>();
  add_text_task_options(*app, command->task);
  app->get_option("--field")->description(
      "The field of an object that holds the text, or a list of words; when not named, \"words\" "
      "is looked at in lines without \"text\"");
  app->get_option("--output")
      ->description(
          "File for the records. JSON lines for --input are continued where it exists: what it "
          "answers already is not computed again. With --format brat a new directory");
  app->add_option("--aggregation", command->aggregation,
                  "Tokens by themselves (none); entities of tokens (simple); entities of words, "
                  "whose label is that of the first token, of the mean or of the highest score")
      ->check(CLI::IsMember(names_of(kAggregations)))
      ->capture_default_str();
  app->add_option("--scheme", command->scheme,
                  "What the prefixes of labels mean: B- and I- as in the reference (bio), also E-, "
                  "L-, S- and U- (bioes), or what the labels look like (auto)")
      ->check(CLI::IsMember(names_of(kSchemes)))
      ->capture_default_str();
  CLI::Option* const ignore =
      app->add_option("--ignore-labels", command->ignore_labels,
                      "Names of entities (with --aggregation none: labels) to leave out, parted "
                      "by commas; \"\" for none")
          ->delimiter(',')
          ->capture_default_str()
          ->type_name("LABELS");
  app->add_option("--threshold", command->threshold, "Leave out entities with a lower score")
      ->check(finite_number())
      ->capture_default_str()
      ->type_name("SCORE");
  app->add_option("--stride", command->stride,
                  "Read long texts as the reference's pipeline does with this stride: windows that "
                  "share so many tokens, of entities that overlap the longest. Default: each token "
                  "from the window in whose middle it lies")
      ->check(CLI::Range(int64_t{0}, kMaxSequence))
      ->type_name("TOKENS");
  app->add_option("--format", command->format,
                  "JSON lines; a word and its label a line (conll); a directory of .txt and .ann "
                  "files (brat)")
      ->check(CLI::IsMember(names_of(kFormats)))
      ->capture_default_str();
  commands.add(app, [command, app, ignore] {
    command->field_given = app->get_option("--field")->count() > 0;
    command->ignore_labels_given = ignore->count() > 0;
    return run_tag(*command);
  });
}

}  // namespace longformer::cli
