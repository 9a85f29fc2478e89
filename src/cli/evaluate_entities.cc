// evaluate: tags of sentences, in columns (CoNLL) or as lists in JSON lines.
#include <map>

#include "cli/evaluate.h"
#include "io/datasets/conll.h"
#include "io/datasets/rows.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/metrics/entities.h"

namespace longformer::cli {
namespace {

struct Sentences {
  std::map<int64_t, tasks::Tags> tags;  // by number of the record
  int64_t records = 0;
};

Sentences read_json(const std::string& path, const std::string& field, Evaluation& evaluation) {
  io::Rows rows = io::read_rows(path);
  Sentences result;
  result.records = std::ssize(rows.rows) + std::ssize(rows.bad);
  for (const io::Row& row : rows.rows) {
    const io::Cell* const list = row.find(field);
    bool good = list != nullptr && list->kind == io::Cell::Kind::kList;
    tasks::Tags tags;
    if (good) {
      for (const io::Cell& tag : list->list) {
        good &= tag.kind == io::Cell::Kind::kText;
        tags.push_back(tag.text);
      }
    }
    if (good) {
      result.tags.emplace(row.record, std::move(tags));
    } else {
      rows.bad.push_back({row.line, row.record,
                          "has no list of strings in the field " + io::short_value(Json(field))});
    }
  }
  report_bad(path, rows.bad, evaluation);
  return result;
}

Sentences read_columns(const std::string& path, int64_t column, Evaluation& evaluation) {
  io::ConllFile file = io::parse_conll(io::read_dataset(path), column, path);
  Sentences result;
  result.records = std::ssize(file.sentences) + std::ssize(file.bad);
  for (io::ConllSentence& sentence : file.sentences) {
    result.tags.emplace(sentence.record, std::move(sentence.tags));
  }
  report_bad(path, file.bad, evaluation);
  return result;
}

Sentences read_sentences(const std::string& path, const std::string& field, int64_t column,
                         Evaluation& evaluation) {
  return std::filesystem::path(path).extension() == ".jsonl"
             ? read_json(path, field, evaluation)
             : read_columns(path, column, evaluation);
}

}  // namespace

void score_entities(const std::vector<std::vector<std::string>>& gold,
                    const std::vector<std::vector<std::string>>& predicted,
                    const std::string& scheme, Evaluation& evaluation) {
  const tasks::EntityReport report =
      tasks::entity_report(gold, predicted, tasks::tag_scheme(scheme));
  evaluation.items = std::ssize(gold);
  const tasks::Averages& averages = report.averages;
  evaluation.metrics = {{"overall_precision", averages.micro.precision},
                        {"overall_recall", averages.micro.recall},
                        {"overall_f1", averages.micro.f1},
                        {"overall_accuracy", report.accuracy},
                        {"macro_precision", averages.macro.precision},
                        {"macro_recall", averages.macro.recall},
                        {"macro_f1", averages.macro.f1},
                        {"weighted_precision", averages.weighted.precision},
                        {"weighted_recall", averages.weighted.recall},
                        {"weighted_f1", averages.weighted.f1}};
  for (size_t i = 0; i < report.types.size(); ++i) {
    const tasks::Scores& scores = report.scores[i];
    evaluation.labels[report.types[i]] = {{"precision", scores.precision},
                                          {"recall", scores.recall},
                                          {"f1", scores.f1},
                                          {"number", scores.support}};
  }
}

Evaluation evaluate_entities(const EvaluateOptions& options) {
  Evaluation evaluation;
  Sentences gold =
      read_sentences(options.data, options.label_field, options.label_column, evaluation);
  Sentences predicted = read_sentences(options.predictions, options.prediction_field,
                                       options.prediction_column, evaluation);
  if (gold.records != predicted.records) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(predicted.records) + " sentences, " + options.data +
                    " has " + std::to_string(gold.records) + "; each needs one",
                options.predictions);
  }
  std::vector<tasks::Tags> gold_tags, predicted_tags;
  for (auto& [record, tags] : gold.tags) {
    const auto found = predicted.tags.find(record);
    if (found == predicted.tags.end()) continue;
    if (found->second.size() != tags.size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "sentence " + std::to_string(record + 1) + " has " +
                      std::to_string(found->second.size()) + " tags, in " + options.data + " " +
                      std::to_string(tags.size()),
                  options.predictions);
    }
    gold_tags.push_back(std::move(tags));
    predicted_tags.push_back(std::move(found->second));
  }
  score_entities(gold_tags, predicted_tags, options.scheme, evaluation);
  return evaluation;
}

}  // namespace longformer::cli
