// evaluate: rows of JSON lines, CSV and TSV with a label each, paired by id or in their order.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "cli/evaluate.h"
#include "io/datasets/cells.h"
#include "io/datasets/rows.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/metrics/classification.h"
#include "tasks/metrics/language.h"

namespace longformer::cli {
namespace {

using io::Cell;
using io::label_fault;
using io::labels_fault;
using io::number_fault;
using io::Row;

std::string quoted(const std::string& name) { return io::short_value(Json(name)); }

std::string numbers_fault(Cell& cell) {
  if (cell.kind != Cell::Kind::kList) return number_fault(cell);
  for (Cell& item : cell.list) {
    if (!number_fault(item).empty()) return "must hold finite numbers";
  }
  return "";
}

std::string log_probabilities_fault(Cell& cell) {
  const std::string fault = numbers_fault(cell);
  if (!fault.empty()) return fault;
  const auto above = [](const Cell& one) { return one.number > 0; };
  if (cell.kind == Cell::Kind::kList) {
    const auto found = std::find_if(cell.list.begin(), cell.list.end(), above);
    if (found == cell.list.end()) return "";
    return "has a value above 0 (the " + std::to_string(found - cell.list.begin() + 1) +
           ". of the list); natural logarithms of probabilities are needed";
  }
  return above(cell) ? "is above 0; natural logarithms of probabilities are needed" : "";
}

int64_t records(const Side& side) { return std::ssize(side.rows.rows) + std::ssize(side.rows.bad); }

bool all_have(const Side& side, const std::string& field) {
  const std::vector<Row>& rows = side.rows.rows;
  return !rows.empty() &&
         std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return row.find(field); });
}

}  // namespace

void check_field(const std::string& field, const CellCheck& check, Side& side) {
  const bool any = std::any_of(side.rows.rows.begin(), side.rows.rows.end(),
                               [&](const Row& row) { return row.find(field); });
  if (!any && !side.rows.rows.empty()) {
    std::string fields;
    for (const auto& [name, cell] : side.rows.rows[0].cells) {
      fields += (fields.empty() ? "" : ", ") + quoted(name);
      if (fields.size() > 200) break;
    }
    throw Error(ErrorCode::kInvalidArgument,
                "no record has the field " + quoted(field) + "; the first one has " + fields,
                side.path);
  }
  std::vector<Row> good;
  for (Row& row : side.rows.rows) {
    std::string fault = "has no field " + quoted(field);
    for (auto& [name, cell] : row.cells) {
      if (name != field) continue;
      fault = check(cell);
      if (!fault.empty()) fault = "the field " + quoted(field) + " " + fault;
    }
    if (fault.empty()) {
      good.push_back(std::move(row));
    } else {
      side.rows.bad.push_back({row.line, row.record, fault});
    }
  }
  side.rows.rows = std::move(good);
}

namespace {

Side read_side(const std::string& path, const std::string& field, const CellCheck& check) {
  Side side{path, io::read_rows(path)};
  check_field(field, check, side);
  return side;
}

std::map<std::string, const Row*> by_id(const Side& side, const std::string& field) {
  std::map<std::string, const Row*> rows;
  for (const Row& row : side.rows.rows) {
    if (rows.emplace(row.find(field)->text, &row).second) continue;
    throw Error(ErrorCode::kInvalidArgument, "its id stood in a line before",
                side.path + " line " + std::to_string(row.line));
  }
  return rows;
}

using RowPairs = std::vector<std::pair<const Row*, const Row*>>;

RowPairs pair_by_id(const Side& gold, const Side& predicted, const std::string& field) {
  const std::map<std::string, const Row*> wanted = by_id(gold, field);
  const std::map<std::string, const Row*> found = by_id(predicted, field);
  // A record that was left out may have had the id that is absent now.
  for (const auto& [id, row] : found) {
    if (wanted.contains(id) || !gold.rows.bad.empty()) continue;
    throw Error(ErrorCode::kInvalidArgument, "its id is not in " + gold.path,
                predicted.path + " line " + std::to_string(row->line));
  }
  RowPairs pairs;
  for (const Row& row : gold.rows.rows) {
    const auto answer = found.find(row.find(field)->text);
    if (answer != found.end()) {
      pairs.emplace_back(&row, answer->second);
    } else if (predicted.rows.bad.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "its id is not in " + predicted.path,
                  gold.path + " line " + std::to_string(row.line));
    }
  }
  return pairs;
}

RowPairs pair_in_order(const Side& gold, const Side& predicted) {
  if (records(gold) != records(predicted)) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(records(predicted)) + " records, " + gold.path + " has " +
                    std::to_string(records(gold)) +
                    "; each needs one, or an id in both (--id-field)",
                predicted.path);
  }
  std::map<int64_t, const Row*> found;
  for (const Row& row : predicted.rows.rows) found.emplace(row.record, &row);
  RowPairs pairs;
  for (const Row& row : gold.rows.rows) {
    const auto answer = found.find(row.record);
    if (answer != found.end()) pairs.emplace_back(&row, answer->second);
  }
  return pairs;
}

struct Paired {
  Side gold;
  Side predicted;
  RowPairs rows;
  CellPairs cells;
};

std::unique_ptr<Paired> read_pairs(const EvaluateOptions& options, const CellCheck& check,
                                   Evaluation& evaluation) {
  const std::string& predicted_field = options.prediction_field;
  auto paired = std::make_unique<Paired>();
  paired->gold = read_side(options.data, options.label_field, check);
  paired->predicted = read_side(options.predictions, predicted_field, check);
  const bool has_ids = all_have(paired->gold, "id") && all_have(paired->predicted, "id");
  const std::string id = options.id_field.empty() && has_ids ? "id" : options.id_field;
  if (!id.empty()) {
    check_field(id, label_fault, paired->gold);
    check_field(id, label_fault, paired->predicted);
  }
  report_bad(options.data, paired->gold.rows.bad, evaluation);
  report_bad(options.predictions, paired->predicted.rows.bad, evaluation);
  paired->rows = id.empty() ? pair_in_order(paired->gold, paired->predicted)
                            : pair_by_id(paired->gold, paired->predicted, id);
  for (const auto& [gold, predicted] : paired->rows) {
    paired->cells.emplace_back(gold->find(options.label_field), predicted->find(predicted_field));
  }
  return paired;
}

// Names to numbers, in the order of the names.
class LabelNames {
 public:
  void add(const std::string& name) { names_.emplace(name, 0); }
  void number() {
    int64_t next = 0;
    for (auto& [name, index] : names_) index = next++;
  }
  int64_t index(const std::string& name) const { return names_.at(name); }
  int64_t size() const { return std::ssize(names_); }
  Json table(const std::vector<tasks::Scores>& scores) const {
    Json result = Json::object();
    for (const auto& [name, index] : names_) {
      const tasks::Scores& one = scores[static_cast<size_t>(index)];
      add_label(name,
                {{"precision", one.precision},
                 {"recall", one.recall},
                 {"f1-score", one.f1},
                 {"support", one.support}},
                result);
    }
    return result;
  }

 private:
  std::map<std::string, int64_t> names_;
};

void add_scores(const std::string& average, const tasks::Scores& scores, Json& metrics) {
  metrics["precision_" + average] = scores.precision;
  metrics["recall_" + average] = scores.recall;
  metrics["f1_" + average] = scores.f1;
}

void add_averages(const tasks::Averages& averages, Json& metrics) {
  add_scores("micro", averages.micro, metrics);
  add_scores("macro", averages.macro, metrics);
  add_scores("weighted", averages.weighted, metrics);
}

void score_classes(const CellPairs& cells, Evaluation& evaluation) {
  LabelNames names;
  for (const auto& [gold, predicted] : cells) {
    names.add(gold->text);
    names.add(predicted->text);
  }
  names.number();
  std::vector<int64_t> gold_ids, predicted_ids;
  for (const auto& [gold, predicted] : cells) {
    gold_ids.push_back(names.index(gold->text));
    predicted_ids.push_back(names.index(predicted->text));
  }
  const tasks::ClassReport report = tasks::class_report(gold_ids, predicted_ids, names.size());
  evaluation.metrics["accuracy"] = report.accuracy;
  evaluation.metrics["matthews_corrcoef"] = report.matthews;
  add_averages(report.averages, evaluation.metrics);
  evaluation.labels = names.table(report.classes);
}

std::vector<int64_t> label_set(const Cell& cell, const LabelNames& names) {
  std::vector<int64_t> ids;
  for (const Cell& item : cell.list) ids.push_back(names.index(item.text));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void score_label_sets(const CellPairs& cells, Evaluation& evaluation) {
  LabelNames names;
  for (const auto& [gold, predicted] : cells) {
    for (const Cell& item : gold->list) names.add(item.text);
    for (const Cell& item : predicted->list) names.add(item.text);
  }
  names.number();
  tasks::LabelSets gold_sets, predicted_sets;
  for (const auto& [gold, predicted] : cells) {
    gold_sets.push_back(label_set(*gold, names));
    predicted_sets.push_back(label_set(*predicted, names));
  }
  const tasks::MultiLabelReport report =
      tasks::multi_label_report(gold_sets, predicted_sets, names.size());
  evaluation.metrics["accuracy"] = report.subset_accuracy;
  evaluation.metrics["hamming_loss"] = report.hamming_loss;
  add_averages(report.averages, evaluation.metrics);
  add_scores("samples", report.samples, evaluation.metrics);
  evaluation.labels = names.table(report.classes);
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

void score_numbers(const CellPairs& cells, Evaluation& evaluation) {
  std::vector<double> gold_values, predicted_values;
  for (const auto& [gold, predicted] : cells) {
    gold_values.push_back(gold->number);
    predicted_values.push_back(predicted->number);
  }
  const tasks::RegressionReport report = tasks::regression_report(gold_values, predicted_values);
  evaluation.metrics = {{"mse", report.mse},
                        {"rmse", report.rmse},
                        {"mae", report.mae},
                        {"pearson", or_null(report.pearson)},
                        {"spearmanr", or_null(report.spearman)}};
}

Evaluation masked_tokens(const EvaluateOptions& options) {
  Evaluation evaluation;
  const std::string& field = options.prediction_field;
  const Side side = read_side(options.predictions, field, log_probabilities_fault);
  report_bad(options.predictions, side.rows.bad, evaluation);
  std::vector<double> values;
  for (const Row& row : side.rows.rows) {
    const Cell& cell = *row.find(field);
    if (cell.kind != Cell::Kind::kList) values.push_back(cell.number);
    for (const Cell& item : cell.list) values.push_back(item.number);
  }
  if (values.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "has no masked token to evaluate",
                options.predictions);
  }
  evaluation.items = std::ssize(side.rows.rows);
  score_language(values, evaluation);
  return evaluation;
}

}  // namespace

void score_language(std::span<const double> log_probabilities, Evaluation& evaluation) {
  const tasks::LanguageScores scores = tasks::language_scores(log_probabilities);
  evaluation.metrics = {{"loss", scores.loss},
                        {"bits", scores.bits},
                        {"perplexity", scores.perplexity},
                        {"tokens", scores.tokens}};
}

std::string check_cell(const std::string& task, const std::string& separator, io::Cell& cell) {
  if (task == "multi-label") return labels_fault(separator, cell);
  return task == "regression" ? number_fault(cell) : label_fault(cell);
}

void score_rows(const std::string& task, const CellPairs& cells, Evaluation& evaluation) {
  evaluation.items = std::ssize(cells);
  if (task == "multi-label") return score_label_sets(cells, evaluation);
  if (task == "regression") return score_numbers(cells, evaluation);
  score_classes(cells, evaluation);
}

Evaluation evaluate_rows(const EvaluateOptions& options) {
  if (options.task == "mlm") return masked_tokens(options);
  Evaluation evaluation;
  const auto pairs = read_pairs(
      options, [&](Cell& cell) { return check_cell(options.task, options.separator, cell); },
      evaluation);
  if (pairs->cells.empty()) {
    const bool no_gold = pairs->gold.rows.rows.empty();
    const bool one_side = no_gold || pairs->predicted.rows.rows.empty();
    throw Error(ErrorCode::kInvalidArgument,
                one_side ? "there is nothing to evaluate: it has no record that can be used"
                         : "there is nothing to evaluate: no record has a partner in " +
                               options.predictions,
                one_side && !no_gold ? options.predictions : options.data);
  }
  try {
    score_rows(options.task, pairs->cells, evaluation);
  } catch (const Error& error) {
    if (!error.place().empty()) throw;
    throw Error(error.code(), error.what(), options.predictions);
  }
  return evaluation;
}

}  // namespace longformer::cli
