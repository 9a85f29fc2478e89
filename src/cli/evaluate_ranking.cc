// evaluate: rankings against relevance judgements.
#include <cmath>
#include <map>
#include <set>

#include "cli/evaluate.h"
#include "io/datasets/rows.h"
#include "io/datasets/trec.h"
#include "longformer/error.h"
#include "tasks/metrics/ranking.h"

namespace longformer::cli {
namespace {

constexpr double kMaxGrade = 1 << 20;

bool number_of(const io::Cell& cell, double& value) {
  if (cell.kind == io::Cell::Kind::kNumber || cell.kind == io::Cell::Kind::kLarge) {
    value = cell.number;
    return std::isfinite(value);
  }
  char* end = nullptr;
  if (cell.kind != io::Cell::Kind::kText || cell.text.empty()) return false;
  value = std::strtod(cell.text.c_str(), &end);
  return *end == '\0' && std::isfinite(value);
}

// {"query", "document", "relevance" | "score"}, or the names of BEIR's files: query-id, corpus-id,
// score.
io::TrecFile from_rows(const std::string& path, io::TrecKind kind) {
  io::Rows rows = io::read_rows(path);
  io::TrecFile file;
  file.bad = std::move(rows.bad);
  std::set<std::pair<std::string, std::string>> pairs;
  const bool judgements = kind == io::TrecKind::kJudgements;
  for (const io::Row& row : rows.rows) {
    const auto find = [&](std::string_view name, std::string_view other) {
      const io::Cell* const cell = row.find(name);
      return cell != nullptr ? cell : row.find(other);
    };
    const io::Cell* const query = find("query", "query-id");
    const io::Cell* const document = find("document", "corpus-id");
    const io::Cell* const value = find(judgements ? "relevance" : "score", "score");
    io::TrecEntry entry;
    entry.line = row.line;
    std::string fault;
    if (query == nullptr || query->text.empty() || document == nullptr || document->text.empty()) {
      fault = "has no query and document";
    } else if (query->kind == io::Cell::Kind::kLarge || document->kind == io::Cell::Kind::kLarge) {
      fault = std::string("its query or document is ") + io::kLargeNumberFault;
    } else if (value == nullptr || !number_of(*value, entry.value)) {
      fault = judgements ? "has no number in the field \"relevance\""
                         : "has no number in the field \"score\"";
    } else if (judgements &&
               (entry.value != std::floor(entry.value) || std::abs(entry.value) > kMaxGrade)) {
      fault = "its relevance is no whole number up to 1048576";
    } else if (!pairs.emplace(query->text, document->text).second) {
      fault = "its query and document stood in a line before";
    }
    if (!fault.empty()) {
      file.bad.push_back({row.line, row.record, fault});
      continue;
    }
    entry.query = query->text;
    entry.document = document->text;
    file.entries.push_back(std::move(entry));
  }
  return file;
}

io::TrecFile read_entries(const std::string& path, io::TrecKind kind, Evaluation& evaluation) {
  const auto ending = std::filesystem::path(path).extension();
  const bool rows = ending == ".jsonl" || ending == ".csv" || ending == ".tsv";
  io::TrecFile file =
      rows ? from_rows(path, kind) : io::parse_trec(io::read_dataset(path), kind, path);
  report_bad(path, file.bad, evaluation);
  return file;
}

}  // namespace

Evaluation evaluate_ranking(const EvaluateOptions& options) {
  Evaluation evaluation;
  std::map<std::string, tasks::Judgements> judgements;
  for (io::TrecEntry& entry :
       read_entries(options.data, io::TrecKind::kJudgements, evaluation).entries) {
    judgements[entry.query].emplace(std::move(entry.document), static_cast<int64_t>(entry.value));
  }
  std::map<std::string, std::vector<tasks::Retrieved>> retrieved;
  std::set<std::string> unjudged;
  for (io::TrecEntry& entry :
       read_entries(options.predictions, io::TrecKind::kRun, evaluation).entries) {
    if (judgements.contains(entry.query)) {
      retrieved[entry.query].push_back({std::move(entry.document), entry.value});
    } else {
      unjudged.insert(std::move(entry.query));
    }
  }
  std::vector<tasks::RankingScores> queries;
  for (const auto& [query, of_query] : judgements) {
    const auto found = retrieved.find(query);
    if (found == retrieved.end()) ++evaluation.missing;
    queries.push_back(tasks::ranking_scores(
        of_query, found == retrieved.end() ? std::vector<tasks::Retrieved>{} : found->second,
        options.cuts));
  }
  evaluation.items = std::ssize(queries);
  const tasks::RankingScores scores = tasks::mean(queries);
  Json& metrics = evaluation.metrics;
  metrics = {{"ndcg", scores.ndcg}, {"map", scores.map}, {"recip_rank", scores.mrr}};
  for (const tasks::CutScores& cut : scores.cuts) {
    const std::string k = std::to_string(cut.k);
    metrics["ndcg_cut_" + k] = cut.ndcg;
    metrics["recall_" + k] = cut.recall;
    metrics["P_" + k] = cut.precision;
    metrics["map_cut_" + k] = cut.map;
    metrics["recip_rank_cut_" + k] = cut.mrr;
  }
  metrics["queries_without_judgements"] = std::ssize(unjudged);
  return evaluation;
}

}  // namespace longformer::cli
