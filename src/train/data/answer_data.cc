#include "train/data/answer_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/hash.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/answer.h"
#include "train/data/answer_places.h"
#include "train/data/example_sink.h"
#include "train/data/mapped_text.h"
#include "train/data/sequence_maker.h"

namespace longformer::train {
namespace {

std::string name_of(const io::GoldQuestion& question) {
  return question.id.empty() ? "" : " question " + io::short_value(io::Json(question.id));
}

// Questions of one context are one group; contexts may be long.
std::string group_of_context(const std::string& context) {
  io::Sha256 hash;
  hash.update(context);
  return hash.hex();
}

class Questions {
 public:
  Questions(const DataModel& model, const DataOptions& options, const AnswerDataOptions& how,
            ExampleSink& sink)
      : maker_(model, options), options_(options), how_(how), sink_(sink) {}

  void squad(const std::string& path) {
    if (options_.split.side != SplitSide::kAll && !options_.split.group_field.empty()) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "has no fields to split by; without one, the questions of a context stay together", path);
    }
    const io::QuestionFile file = io::parse_squad(io::read_dataset(path), path);
    std::vector<uint8_t> taken;
    for (const std::string& context : file.contexts) {
      taken.push_back(takes(options_.split, group_of_context(context)) ? 1 : 0);
    }
    for (const io::GoldQuestion& question : file.questions) {
      if (taken[question.context] == 0) continue;
      sink_.record(path + name_of(question),
                   [&] { add(question, file.contexts[question.context]); });
    }
  }

  void rows(const std::string& path) {
    MappedText file(path);
    io::RowReader reader(file.text(), io::row_format(path), path);
    io::Row row;
    io::BadRecord bad;
    while (reader.next(row, bad)) {
      io::GoldQuestion question;
      std::string context;
      std::string fault = bad.reason;
      if (fault.empty()) fault = io::question_fault(row, how_.fields, question, context);
      std::string group = group_of_context(context);
      try {
        if (fault.empty()) group = group_of(options_.split, row, group);
      } catch (const BadExample& problem) {
        fault = problem.what();
      }
      if (!takes(options_.split, group)) continue;
      sink_.record(path + " line " + std::to_string(row.line) + name_of(question), [&] {
        if (!fault.empty()) throw BadExample(fault);
        add(question, context);
      });
      file.read_up_to(reader.bytes_read());
    }
  }

 private:
  void add(const io::GoldQuestion& question, const std::string& context);
  tasks::CutText cut(const std::string& question, const std::string& context);
  std::vector<TokenSpan> spans_in(const tasks::CutText& cut, size_t window,
                                  const std::vector<text::Offset>& places) const;

  SequenceMaker maker_;
  const DataOptions& options_;
  const AnswerDataOptions& how_;
  ExampleSink& sink_;
};

tasks::CutText Questions::cut(const std::string& question, const std::string& context) {
  tasks::AnswerOptions how;
  how.stride = options_.stride;
  tasks::CutText cut = tasks::cut_question(maker_.space(), question, context, how);
  const tasks::LongText long_text = options_.long_text.value_or(tasks::LongText::kWindows);
  if (cut.windows.size() == 1 || long_text == tasks::LongText::kWindows) return cut;
  if (long_text == tasks::LongText::kRefuse) {
    throw BadExample(std::to_string(cut.tokens) + " tokens, and a sequence has at most " +
                     std::to_string(maker_.space().max_tokens));
  }
  cut.windows.resize(1);
  const std::vector<int8_t>& kept = cut.windows[0].sequence;
  cut.truncated_tokens =
      cut.tokens - std::count_if(kept.begin(), kept.end(), [](int8_t s) { return s >= 0; });
  return cut;
}

std::vector<TokenSpan> Questions::spans_in(const tasks::CutText& cut, size_t window,
                                           const std::vector<text::Offset>& places) const {
  // A text that was cut off ends in its only window.
  const WindowPlace place{window == 0,
                          window + 1 == cut.windows.size() && cut.truncated_tokens == 0};
  std::vector<TokenSpan> spans;
  for (const text::Offset& bytes : places) {
    TokenSpan span;
    if (token_span(cut.windows[window], place, bytes, span.first, span.last)) spans.push_back(span);
  }
  std::sort(spans.begin(), spans.end(), [](const TokenSpan& a, const TokenSpan& b) {
    return a.first != b.first ? a.first < b.first : a.last < b.last;
  });
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  return spans;
}

void Questions::add(const io::GoldQuestion& question, const std::string& context) {
  const tasks::CutText text = cut(question.question, context);
  const std::vector<text::Offset> places = answer_places(context, question);
  note_cut(text, sink_.notices);
  maker_.begin(text.first, text.second);
  for (size_t window = 0; window < text.windows.size(); ++window) {
    TrainingBatch example;
    std::vector<TokenSpan> spans = spans_in(text, window, places);
    if (spans.empty()) {
      ++sink_.notices.unanswered;
      // Without a first token of the template there is nothing to point to.
      if (how_.no_answer == NoAnswer::kDrop || text.windows[window].sequence[0] != -1) {
        ++sink_.notices.dropped;
        continue;
      }
      spans.push_back({0, 0});
    }
    maker_.add(text.windows[window], example);
    example.targets.spans.push_back(std::move(spans));
    sink_.add(example);
  }
}

std::string facts_of(const DataModel& model, const DataOptions& options,
                     const AnswerDataOptions& how) {
  const io::QuestionFields& fields = how.fields;
  return common_facts(model, options,
                      long_text_name(options.long_text.value_or(tasks::LongText::kWindows))) +
         "fields " + fields.id + " " + fields.question + " " + fields.context + " " +
         fields.answers + "\n" + "without an answer " +
         (how.no_answer == NoAnswer::kDrop ? "dropped" : "first token") + "\n";
}

}  // namespace

std::unique_ptr<TrainingData> answer_data(const DataModel& model, const DataOptions& options,
                                          const AnswerDataOptions& how) {
  StorePlan plan{"answer", DataFiles::list(options.paths), facts_of(model, options, how)};
  const std::vector<std::string> paths = plan.files.paths();
  return stored_data(std::move(plan), model, options, [&](ExampleSink& sink) {
    Questions questions(model, options, how, sink);
    for (const std::string& path : paths) {
      if (std::filesystem::path(path).extension() == ".json") {
        questions.squad(path);
      } else {
        questions.rows(path);
      }
    }
  });
}

}  // namespace longformer::train
