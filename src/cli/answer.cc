// answer: the words of documents, or of texts in JSON lines, that answer a question.
#include "tasks/answer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "cli/command.h"
#include "cli/index_options.h"
#include "cli/search_output.h"
#include "cli/task_options.h"
#include "cli/text_task_options.h"
#include "longformer/error.h"
#include "tasks/index_search.h"

namespace longformer::cli {
namespace {

constexpr int64_t kMaxListed = 100'000;
// Passages of an index that are looked at for each document that is wanted; more where they lie in
// too few documents.
constexpr int64_t kPassagesPerDocument = 16;

struct AnswerCommand {
  TextTaskOptions task;
  std::optional<std::string> question;
  std::string question_field = "question";
  tasks::AnswerOptions answer;
  std::optional<double> no_answer_threshold;
  bool best = false;
  std::string index;
  std::vector<std::string> paths;
  int64_t documents = 5;
};

// The documents with the best passages, best first.
std::vector<std::string> retrieve(const AnswerCommand& command) {
  const tasks::IndexReader index{std::filesystem::path(command.index)};
  TaskOptions task;
  task.model.threads = command.task.model.threads;
  use_index_settings(index.collection().settings(), task);
  tasks::TextModel model = load_model(task);
  tasks::IndexSearchOptions options;
  options.paths = command.paths;
  options.sentences = false;
  std::vector<std::string> files;
  for (options.top = kPassagesPerDocument * command.documents;; options.top *= 4) {
    const tasks::IndexSearchOutcome outcome =
        tasks::search_index(model, model_directory(task.model), index, *command.question, options);
    files.clear();
    for (const tasks::SearchResult& result : outcome.results) {
      if (static_cast<int64_t>(files.size()) == command.documents) return files;
      if (std::find(files.begin(), files.end(), result.file) == files.end()) {
        files.push_back(result.file);
      }
    }
    if (static_cast<int64_t>(outcome.results.size()) < options.top) return files;
  }
}

// What is kept of an input until it is answered.
struct Waiting {
  Json start;             // "line" and "file"
  Json id;                // of the line
  io::Document document;  // its text waits in `cut`
};

// SQuAD's are texts; other numbers are taken as well.
Json id_of(const TaskInput& input) {
  if (!input.line) return nullptr;
  const auto found = input.record.find("id");
  if (found == input.record.end() || found->is_null()) return nullptr;
  if (found->is_string()) return *found;
  if (found->is_number()) return found->dump();
  throw Error(ErrorCode::kInvalidArgument, "the field \"id\" must be a text or a number");
}

class Answering {
 public:
  Answering(const AnswerCommand& command, LoadedTask& task, const tasks::TaskRun& run)
      : command_(command), task_(task), run_(run) {
    // Of all texts together, no answer takes part once, at the end.
    of_one_text_ = command.answer;
    if (command.best) of_one_text_.impossible = false;
  }

  int64_t take(TaskInput input);
  void compute(const std::function<void(const TaskAnswer&)>& answer);
  std::vector<Json> best();
  bool found() const { return found_; }

 private:
  struct Ranked {
    double rank;
    Json record;
  };
  Json record_of(const Waiting& waiting, const tasks::CutText& cut, const tasks::Answers& answers,
                 const tasks::Answer& answer) const;
  void keep(const Waiting& waiting, const tasks::CutText& cut, const tasks::Answers& answers);
  void cut_list();

  const AnswerCommand& command_;
  LoadedTask& task_;
  tasks::TaskRun run_;
  tasks::AnswerOptions of_one_text_;
  std::vector<Waiting> waiting_;
  std::vector<tasks::CutText> cuts_;
  std::vector<Ranked> ranked_;        // with --best: the best so far
  std::optional<Ranked> least_null_;  // with --best: no answer
  bool found_ = false;
};

int64_t Answering::take(TaskInput input) {
  std::string question =
      command_.question ? *command_.question : text_field(input.record, command_.question_field);
  std::string text =
      input.line ? text_field(input.record, command_.task.field) : std::move(input.document.text);
  Waiting waiting{input.record_start(), id_of(input), {}};
  tasks::CutText cut =
      tasks::cut_question(task_.model, std::move(question), std::move(text), command_.answer);
  waiting.document = std::move(input.document);
  int64_t tokens = 0;
  for (const text::Encoding& window : cut.windows) tokens += static_cast<int64_t>(window.size());
  waiting_.push_back(std::move(waiting));
  cuts_.push_back(std::move(cut));
  return tokens;
}

Json Answering::record_of(const Waiting& waiting, const tasks::CutText& cut,
                          const tasks::Answers& answers, const tasks::Answer& answer) const {
  const auto begin = static_cast<size_t>(answer.bytes.begin);
  const auto end = static_cast<size_t>(answer.bytes.end);
  io::Citation place;
  if (!answer.none) place = io::cite(waiting.document, answer.bytes.begin, answer.bytes.end);
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  std::optional<int64_t> line_start;
  std::optional<int64_t> line_end;
  if (!answer.none) {
    const std::string& text = waiting.document.text;
    const auto lines = [&](size_t from, size_t to) {
      return static_cast<int64_t>(std::count(text.begin() + static_cast<ptrdiff_t>(from),
                                             text.begin() + static_cast<ptrdiff_t>(to), '\n'));
    };
    line_start = 1 + lines(0, begin);
    line_end = *line_start + lines(begin, end);
  }
  Json record = waiting.start;
  record.update(Json{
      {"id", waiting.id},
      {"question", cut.first},
      {"rank", 0},
      {"score", json_number(answer.score)},
      {"start", answer.characters.begin},
      {"end", answer.characters.end},
      {"answer", waiting.document.text.substr(begin, end - begin)},
      {"no_answer", answer.none},
      {"null_score", json_number(answers.null_score)},
      {"byte_start", answer.bytes.begin},
      {"byte_end", answer.bytes.end},
      {"line_start", number(line_start)},
      {"line_end", number(line_end)},
      {"page_start", number(place.page_start)},
      {"page_end", number(place.page_end)},
      {"headings", place.headings},
      {"anchor", place.anchor.empty() ? Json(nullptr) : Json(place.anchor)},
      {"kind", io::document_kind_name(waiting.document.kind)},
      {"tokens", cut.tokens},
      {"windows", cut.windows.size()},
      {"global_tokens", answers.global_tokens},
  });
  return record;
}

void Answering::compute(const std::function<void(const TaskAnswer&)>& answer) {
  tasks::answer(task_.model, cuts_, of_one_text_, run_,
                [&](size_t index, const tasks::Answers& answers) {
                  Waiting& waiting = waiting_[index];
                  tasks::CutText& cut = cuts_[index];
                  waiting.document.text = std::move(cut.second);
                  TaskAnswer result;
                  result.windows = static_cast<int64_t>(cut.windows.size());
                  found_ = found_ || !answers.best[0].none;
                  if (command_.best) {
                    keep(waiting, cut, answers);
                  } else {
                    for (const tasks::Answer& one : answers.best) {
                      result.records.push_back(record_of(waiting, cut, answers, one));
                      result.records.back()["rank"] = result.records.size();
                    }
                  }
                  waiting = {};
                  cut = {};
                  answer(result);
                });
  waiting_.clear();
  cuts_.clear();
}

void Answering::keep(const Waiting& waiting, const tasks::CutText& cut,
                     const tasks::Answers& answers) {
  for (const tasks::Answer& one : answers.best) {
    if (one.none) continue;
    ranked_.push_back({one.score, record_of(waiting, cut, answers, one)});
  }
  cut_list();
  const tasks::Answer none{answers.null_score, true, {}, {}};
  const double rank = tasks::rank_of(none, command_.answer);
  if (!least_null_ || rank < least_null_->rank) {
    least_null_ = Ranked{rank, record_of(waiting, cut, answers, none)};
    least_null_->record["file"] = nullptr;  // it is of all of them
  }
}

void Answering::cut_list() {
  std::stable_sort(ranked_.begin(), ranked_.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; });
  const auto count = static_cast<size_t>(command_.answer.top_k);
  if (ranked_.size() > count)
    ranked_.erase(ranked_.begin() + static_cast<ptrdiff_t>(count), ranked_.end());
}

std::vector<Json> Answering::best() {
  if (least_null_ && (command_.answer.impossible || ranked_.empty())) {
    ranked_.push_back(std::move(*least_null_));
    cut_list();
  }
  std::vector<Json> records;
  for (Ranked& one : ranked_) {
    records.push_back(std::move(one.record));
    records.back()["rank"] = records.size();
  }
  found_ = !records.empty() && !records[0].at("no_answer").get<bool>();
  return records;
}

std::string human(const Json& record) {
  const std::string score = human_score(record.at("score"));
  const std::string words = record.at("no_answer").get<bool>()
                                ? std::string("(no answer)")
                                : printable(record.at("answer").get<std::string>(), Lines::kJoin);
  if (record.at("file").is_null()) return score + "  " + words;
  const std::string place = record.at("no_answer").get<bool>()
                                ? printable(record.at("file").get<std::string>(), Lines::kJoin)
                                : human_place(record);
  return score + "  " + words + "\n        " + place;
}

void refuse(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, what); }

int run_answer(AnswerCommand command) {
  if (!command.question && command.task.input.empty()) {
    refuse("the QUESTION is missing; only the lines of --input can bring questions of their own");
  }
  if (command.question && command.question->empty()) refuse("the QUESTION is empty");
  if (command.no_answer_threshold) {
    command.answer.impossible = true;
    command.answer.no_answer_threshold = *command.no_answer_threshold;
  }
  if (!command.index.empty()) {
    if (!command.question) refuse("--index needs a QUESTION to look for");
    command.task.files = retrieve(command);
    if (command.task.files.empty()) {
      notice("nothing found in the index");
      return kNothingFound;
    }
  }
  TextTaskRun run(command.task, "answer");
  LoadedTask task = load_task(command.task, Task::kQuestionAnswering);
  const int64_t reads = task.model.max_tokens();
  if (command.answer.max_seq_len > reads) {
    refuse("--max-seq-len " + std::to_string(command.answer.max_seq_len) +
           " is more than the model reads: " + std::to_string(reads) + " tokens");
  }
  if (command.answer.max_seq_len == 0) command.answer.max_seq_len = reads;
  Answering answering(command, task, run.settings(task));
  TaskSteps steps;
  steps.take = [&](TaskInput input) { return answering.take(std::move(input)); };
  steps.compute = [&](const auto& answer) { answering.compute(answer); };
  steps.human = human;
  steps.human_names_file = true;
  if (command.best) steps.last = [&] { return answering.best(); };
  const int code = run.run(steps, command.answer.max_seq_len);
  // A line of --input that says "no answer" is as good as any other.
  if (code != kDone || answering.found() || !command.task.input.empty()) return code;
  notice("no answer found");
  return kNothingFound;
}

void add_answer_options(CLI::App& app, AnswerCommand& command) {
  tasks::AnswerOptions& answer = command.answer;
  app.add_option("--top-k", answer.top_k, "Answers of a text, best first; with --best, of all")
      ->check(CLI::Range(int64_t{1}, kMaxListed))
      ->capture_default_str();
  app.add_option(
         "--max-answer-length", answer.max_answer_length,
         "Tokens of an answer at most (max_answer_len of the reference's pipeline; TriviaQA "
         "takes 30)")
      ->check(CLI::Range(int64_t{1}, kMaxListed))
      ->capture_default_str();
  app.add_option("--max-seq-len", answer.max_seq_len,
                 "Tokens of a window, question included; default: what the model reads at once "
                 "(the reference's pipeline: at most 384)")
      ->check(CLI::Range(int64_t{1}, kMaxSequence));
  app.add_option(
         "--stride", answer.stride,
         "Tokens of the text that neighbouring windows share (doc_stride of the reference's "
         "pipeline); default: 128, but at most half a window")
      ->check(CLI::Range(int64_t{0}, kMaxSequence));
  add_boolean(app, "--handle-impossible", answer.impossible,
              "Whether a text may have no answer, with a score of its own "
              "(handle_impossible_answer of the reference's pipeline)");
  app.add_option("--no-answer-threshold", command.no_answer_threshold,
                 "How much the score of no answer must be above that of the best span to come "
                 "first, -1 to 1; means --handle-impossible; default 0")
      ->check(numbers_in(-1.0, 1.0));
  add_boolean(app, "--align-to-words", answer.align_to_words, "Whether answers are whole words");
  app.add_flag("--best", command.best,
               "The best answers of all texts together instead of the best of each");
}

}  // namespace

void add_answer(CLI::App& root, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("answer", "Find the words of long documents that answer a question");
  auto command = std::make_shared<AnswerCommand>();
  command->task.field = "context";
  app->add_option("question", command->question,
                  "The question; may be left out where --input brings one a line")
      ->type_name("QUESTION");
  add_text_task_options(*app, command->task);
  app->add_option("--question-field", command->question_field,
                  "The field of an object that holds its question, where no QUESTION is given")
      ->needs("--input")
      ->capture_default_str();
  add_answer_options(*app, *command);
  CLI::Option* index =
      app->add_option("--index", command->index,
                      "Read the documents of this index that are most like the question, found "
                      "with the model that built it, instead of FILES")
          ->type_name("DIRECTORY");
  app->add_option("--documents", command->documents, "With --index, how many documents to read")
      ->check(CLI::Range(int64_t{1}, kMaxListed))
      ->capture_default_str()
      ->needs(index);
  app->add_option("--path", command->paths,
                  "With --index, only files whose path matches this glob, or that lie below the "
                  "directory of this name (repeatable)")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->needs(index);
  for (const char* other : {"files", "--text", "--input", "--include", "--exclude"}) {
    app->get_option(other)->excludes(index);
  }
  app->get_option("--best")->excludes("--input");
  commands.add(app, [command] { return run_answer(*command); });
}

}  // namespace longformer::cli
