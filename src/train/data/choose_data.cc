#include "train/data/choose_data.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "io/datasets/cells.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/choose.h"
#include "train/data/example_sink.h"
#include "train/data/sequence_maker.h"

namespace longformer::train {
namespace {

std::string optional_text(io::Row& row, const std::string& field) {
  const io::Cell* const cell = row.find(field);
  if (cell == nullptr || cell->kind == io::Cell::Kind::kNull || cell->text.empty()) return {};
  return std::move(text_of(row, field));
}

tasks::ChoiceQuestion question_of(io::Row& row, const ChooseFields& fields) {
  tasks::ChoiceQuestion question;
  question.context = optional_text(row, fields.context);
  question.question = optional_text(row, fields.question);
  if (question.context.empty() && question.question.empty()) {
    throw BadExample("has neither a context nor a question");
  }
  const std::string name = io::short_value(io::Json(fields.choices));
  if (!io::take_list(&cell_of(row, fields.choices), question.choices)) {
    throw BadExample("the field " + name + " must be a list of strings");
  }
  if (question.choices.size() < 2) {
    throw BadExample("has " + std::to_string(question.choices.size()) + " choices in the field " +
                     name + "; two are needed");
  }
  return question;
}

int64_t right_choice(io::Row& row, const ChooseFields& fields,
                     const std::vector<std::string>& choices) {
  const std::string& label = cell_of(row, fields.label).text;
  int64_t number = -1;
  const char* const last = label.data() + label.size();
  const auto [end, error] = std::from_chars(label.data(), last, number);
  if (error == std::errc() && end == last && number >= 0 && number < std::ssize(choices)) {
    return number;
  }
  const auto found = std::find(choices.begin(), choices.end(), label);
  if (found != choices.end() && std::count(found, choices.end(), label) == 1) {
    return found - choices.begin();
  }
  throw BadExample("the field " + io::short_value(io::Json(fields.label)) +
                   " must be a number from 0 to " + std::to_string(choices.size() - 1) +
                   ", or one of the choices");
}

std::string facts_of(const DataModel& model, const DataOptions& options, const ChooseFields& fields,
                     tasks::LongText long_text) {
  return common_facts(model, options, long_text_name(long_text)) + "fields " + fields.context +
         " " + fields.question + " " + fields.choices + " " + fields.label + "\n";
}

void check_long_text(const DataOptions& options, tasks::LongText long_text) {
  if (long_text != tasks::LongText::kWindows && !options.stride) return;
  throw Error(ErrorCode::kInvalidArgument,
              "choices cannot be compared across windows; texts that are too long are cut off, or "
              "refused");
}

}  // namespace

std::unique_ptr<TrainingData> choose_data(const DataModel& model, const DataOptions& options,
                                          const ChooseFields& fields) {
  const tasks::LongText long_text = options.long_text.value_or(tasks::LongText::kTruncate);
  check_long_text(options, long_text);
  StorePlan plan{"choose", DataFiles::list(options.paths),
                 facts_of(model, options, fields, long_text)};
  const std::vector<std::string> paths = plan.files.paths();
  return stored_data(std::move(plan), model, options, [&](ExampleSink& sink) {
    SequenceMaker maker(model, options);
    visit_rows(paths, options.split, sink, [&](io::Row& row, const std::string&) {
      const tasks::ChoiceQuestion question = question_of(row, fields);
      TrainingBatch example;
      example.targets.classes.push_back(right_choice(row, fields, question.choices));
      example.targets.choices.push_back(std::ssize(question.choices));
      for (const tasks::CutText& pair : tasks::cut_choices(maker.space(), question, long_text)) {
        note_cut(pair, sink.notices);
        maker.begin(pair.first, pair.second);
        maker.add(pair.windows[0], example);
      }
      sink.add(example);
    });
  });
}

}  // namespace longformer::train
