#include "train/data/classify_data.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "io/datasets/cells.h"
#include "io/json.h"
#include "longformer/error.h"
#include "train/data/example_sink.h"
#include "train/data/sequence_maker.h"

namespace longformer::train {
namespace {

std::string numbers_fault(io::Cell& cell) {
  if (cell.kind != io::Cell::Kind::kList) return io::number_fault(cell);
  for (io::Cell& item : cell.list) {
    if (!io::number_fault(item).empty()) return "must hold finite numbers";
  }
  return "";
}

// The cell of the label, checked for its kind.
io::Cell& label_cell(io::Row& row, const ClassifyFields& fields, Problem problem) {
  io::Cell& cell = cell_of(row, fields.label);
  const std::string fault = problem == Problem::kMultiLabel
                                ? io::labels_fault(fields.separator, cell)
                            : problem == Problem::kRegression ? numbers_fault(cell)
                                                              : io::label_fault(cell);
  if (fault.empty() && (problem != Problem::kSingleLabel || !cell.text.empty())) return cell;
  throw BadExample("the field " + io::short_value(io::Json(fields.label)) + " " +
                   (fault.empty() ? "is empty" : fault));
}

void check_fields(const ClassifyFields& fields) {
  if (!fields.separator.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, "the separator of labels must not be empty");
}

class Classifier {
 public:
  Classifier(const DataModel& model, const DataOptions& options, const ClassifyFields& fields,
             ExampleSink& sink)
      : maker_(model, options),
        options_(options),
        fields_(fields),
        labels_(model.info.labels),
        sink_(sink) {}

  void read(io::Row& row, const std::string& place) {
    std::string text = std::move(text_of(row, fields_.text));
    std::optional<std::string> pair;
    const io::Cell* const second = row.find(fields_.pair);
    if (second != nullptr && second->kind != io::Cell::Kind::kNull) {
      pair = std::move(text_of(row, fields_.pair));
    }
    const Targets targets = targets_of(row, place);
    const tasks::CutText cut =
        tasks::cut_text(maker_.space(), std::move(text), std::move(pair),
                        options_.long_text.value_or(tasks::LongText::kWindows),
                        text::Truncation::kLongestFirst, options_.stride);
    if (cut.tokens == 0) throw BadExample("its text has no tokens");
    note_cut(cut, sink_.notices);
    maker_.begin(cut.first, cut.second);
    for (const text::Encoding& window : cut.windows) {
      TrainingBatch example;
      maker_.add(window, example);
      example.targets = targets;
      sink_.add(example);
    }
  }

 private:
  Targets targets_of(io::Row& row, const std::string& place) {
    const TaskInfo& info = maker_.model().info;
    io::Cell& cell = label_cell(row, fields_, info.problem);
    Targets targets;
    if (info.problem == Problem::kSingleLabel) {
      targets.classes.push_back(label_number(labels_, cell.text, place));
    } else if (info.problem == Problem::kMultiLabel) {
      targets.values.assign(static_cast<size_t>(labels_.size()), 0.0f);
      for (const io::Cell& item : cell.list) {
        targets.values[static_cast<size_t>(label_number(labels_, item.text, place))] = 1;
      }
    } else if (cell.kind == io::Cell::Kind::kList) {
      for (const io::Cell& item : cell.list) {
        targets.values.push_back(static_cast<float>(item.number));
      }
    } else {
      targets.values.push_back(static_cast<float>(cell.number));
    }
    for (const float value : targets.values) {
      if (!std::isfinite(value)) throw BadExample("has a label that is too large for 32 bits");
    }
    if (info.problem == Problem::kRegression && std::ssize(targets.values) != info.outputs) {
      throw BadExample("has " + std::to_string(targets.values.size()) + " numbers in the field " +
                       io::short_value(io::Json(fields_.label)) + ", the head of the model " +
                       std::to_string(info.outputs));
    }
    return targets;
  }

  SequenceMaker maker_;
  const DataOptions& options_;
  const ClassifyFields& fields_;
  tasks::LabelSet labels_;
  ExampleSink& sink_;
};

std::string facts_of(const DataModel& model, const DataOptions& options,
                     const ClassifyFields& fields) {
  std::string facts = common_facts(
      model, options, long_text_name(options.long_text.value_or(tasks::LongText::kWindows)));
  facts += "fields " + fields.text + " " + fields.pair + " " + fields.label + " " +
           fields.separator + "\n";
  facts += "problem " + std::to_string(static_cast<int>(model.info.problem)) + " outputs " +
           std::to_string(model.info.outputs) + "\n";
  for (const std::string& label : model.info.labels) {
    facts += "label " + io::Json(label).dump() + "\n";
  }
  return facts;
}

}  // namespace

std::vector<std::string> classify_labels(const DataOptions& options, const ClassifyFields& fields,
                                         Problem problem) {
  check_fields(fields);
  if (problem == Problem::kRegression) return {};
  std::set<std::string> names;
  visit_records(expand_paths(options.paths), options.bad, [&](io::Row& row) {
    const io::Cell& cell = label_cell(row, fields, problem);
    if (problem == Problem::kSingleLabel) names.insert(cell.text);
    for (const io::Cell& item : cell.list) names.insert(item.text);
  });
  return tasks::sort_labels({names.begin(), names.end()});
}

std::unique_ptr<TrainingData> classify_data(const DataModel& model, const DataOptions& options,
                                            const ClassifyFields& fields) {
  check_fields(fields);
  StorePlan plan{"classify", DataFiles::list(options.paths), facts_of(model, options, fields)};
  const std::vector<std::string> paths = plan.files.paths();
  return stored_data(std::move(plan), model, options, [&](ExampleSink& sink) {
    Classifier classifier(model, options, fields, sink);
    visit_rows(paths, options.split, sink,
               [&](io::Row& row, const std::string& place) { classifier.read(row, place); });
  });
}

}  // namespace longformer::train
