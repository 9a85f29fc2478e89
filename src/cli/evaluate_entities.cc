// evaluate: tags of sentences, in columns (CoNLL) or as lists in JSON lines.
#include <algorithm>
#include <map>

#include "cli/evaluate.h"
#include "io/datasets/cells.h"
#include "io/datasets/conll.h"
#include "io/datasets/rows.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/metrics/entities.h"

namespace longformer::cli {
namespace {

Sentences read_json(const std::string& path, const std::string& field,
                    const EvaluateOptions& options, Evaluation& evaluation) {
  io::Rows rows = io::read_rows(path);
  Sentences result;
  result.records = std::ssize(rows.rows) + std::ssize(rows.bad);
  for (const io::Row& row : rows.rows) {
    Sentence sentence;
    const std::string fault = io::sentence_fault(row, options.by_model ? options.text_field : "",
                                                 field, sentence.words, sentence.tags);
    if (fault.empty()) {
      result.read.emplace(row.record, std::move(sentence));
    } else {
      rows.bad.push_back({row.line, row.record, fault});
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
    result.read.emplace(sentence.record,
                        Sentence{std::move(sentence.words), std::move(sentence.tags)});
  }
  report_bad(path, file.bad, evaluation);
  return result;
}

}  // namespace

Sentences read_sentences(const std::string& path, const std::string& field, int64_t column,
                         const EvaluateOptions& options, Evaluation& evaluation) {
  return std::filesystem::path(path).extension() == ".jsonl"
             ? read_json(path, field, options, evaluation)
             : read_columns(path, column, evaluation);
}

void check_sentences(const std::string& path, const Sentences& sentences,
                     const std::string& scheme) {
  const tasks::TagScheme rules = tasks::tag_scheme(scheme);
  for (const auto& [record, sentence] : sentences.read) {
    try {
      tasks::find_entities(sentence.tags, rules);
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), path + " sentence " + std::to_string(record + 1));
    }
  }
  const bool any = std::any_of(sentences.read.begin(), sentences.read.end(),
                               [](const auto& entry) { return !entry.second.tags.empty(); });
  if (any) return;
  throw Error(ErrorCode::kInvalidArgument,
              "there is nothing to evaluate: it has no sentence with tags that can be used", path);
}

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
    add_label(report.types[i],
              {{"precision", scores.precision},
               {"recall", scores.recall},
               {"f1", scores.f1},
               {"number", scores.support}},
              evaluation.labels);
  }
}

Evaluation evaluate_entities(const EvaluateOptions& options) {
  Evaluation evaluation;
  Sentences gold =
      read_sentences(options.data, options.label_field, options.label_column, options, evaluation);
  Sentences predicted = read_sentences(options.predictions, options.prediction_field,
                                       options.prediction_column, options, evaluation);
  if (gold.records != predicted.records) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(predicted.records) + " sentences, " + options.data +
                    " has " + std::to_string(gold.records) + "; each needs one",
                options.predictions);
  }
  check_sentences(options.data, gold, options.scheme);
  check_sentences(options.predictions, predicted, options.scheme);
  std::vector<tasks::Tags> gold_tags, predicted_tags;
  for (auto& [record, sentence] : gold.read) {
    const auto found = predicted.read.find(record);
    if (found == predicted.read.end()) continue;
    tasks::Tags& tags = found->second.tags;
    if (tags.size() != sentence.tags.size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "sentence " + std::to_string(record + 1) + " has " + std::to_string(tags.size()) +
                      " tags, in " + options.data + " " + std::to_string(sentence.tags.size()),
                  options.predictions);
    }
    gold_tags.push_back(std::move(sentence.tags));
    predicted_tags.push_back(std::move(tags));
  }
  if (gold_tags.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "there is nothing to evaluate: no sentence has a partner in " + options.predictions,
                options.data);
  }
  score_entities(gold_tags, predicted_tags, options.scheme, evaluation);
  return evaluation;
}

}  // namespace longformer::cli
