#include "tasks/metrics/ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "longformer/error.h"

namespace longformer::tasks {
namespace {

double discount(size_t place) { return std::log2(static_cast<double>(place) + 2); }

// Sums of the first n documents, for each n.
struct Running {
  std::vector<double> gain{0};
  std::vector<double> relevant{0};
  std::vector<double> precisions{0};  // at the relevant places

  void add(int64_t grade) {
    const size_t place = gain.size() - 1;
    const bool hit = grade > 0;
    gain.push_back(gain.back() + (hit ? static_cast<double>(grade) / discount(place) : 0));
    relevant.push_back(relevant.back() + (hit ? 1 : 0));
    precisions.push_back(precisions.back() +
                         (hit ? relevant.back() / static_cast<double>(place + 1) : 0));
  }
  static double at(const std::vector<double>& sums, int64_t k) {
    return sums[std::min(static_cast<size_t>(k), sums.size() - 1)];
  }
};

}  // namespace

RankingScores ranking_scores(const Judgements& judgements, std::vector<Retrieved> retrieved,
                             std::span<const int64_t> cuts) {
  std::sort(retrieved.begin(), retrieved.end(), [](const Retrieved& a, const Retrieved& b) {
    const auto left = static_cast<float>(a.score), right = static_cast<float>(b.score);
    return left != right ? left > right : a.document > b.document;
  });
  std::vector<int64_t> grades;
  for (const auto& [document, grade] : judgements) {
    if (grade > 0) grades.push_back(grade);
  }
  std::sort(grades.begin(), grades.end(), std::greater<>());
  Running best, found;
  for (const int64_t grade : grades) best.add(grade);
  double first = 0;
  for (size_t i = 0; i < retrieved.size(); ++i) {
    const auto judged = judgements.find(retrieved[i].document);
    const int64_t grade = judged == judgements.end() ? 0 : judged->second;
    found.add(grade);
    if (first == 0 && grade > 0) first = static_cast<double>(i + 1);
  }
  const auto relevant = static_cast<double>(grades.size());
  const auto share = [](double part, double whole) { return whole == 0 ? 0 : part / whole; };
  RankingScores result;
  result.ndcg = share(found.gain.back(), best.gain.back());
  result.map = share(found.precisions.back(), relevant);
  result.mrr = share(1, first);
  for (const int64_t k : cuts) {
    const auto depth = static_cast<double>(k);
    result.cuts.push_back(
        {k, share(Running::at(found.gain, k), Running::at(best.gain, k)),
         share(Running::at(found.relevant, k), relevant), Running::at(found.relevant, k) / depth,
         share(Running::at(found.precisions, k), relevant), first <= depth ? result.mrr : 0});
  }
  return result;
}

RankingScores mean(std::span<const RankingScores> queries) {
  if (queries.empty()) throw Error(ErrorCode::kInvalidArgument, "there is no query to evaluate");
  RankingScores sum = queries[0];
  for (const RankingScores& one : queries.subspan(1)) {
    sum.ndcg += one.ndcg;
    sum.map += one.map;
    sum.mrr += one.mrr;
    for (size_t i = 0; i < sum.cuts.size(); ++i) {
      sum.cuts[i].ndcg += one.cuts[i].ndcg;
      sum.cuts[i].recall += one.cuts[i].recall;
      sum.cuts[i].precision += one.cuts[i].precision;
      sum.cuts[i].map += one.cuts[i].map;
      sum.cuts[i].mrr += one.cuts[i].mrr;
    }
  }
  const auto count = static_cast<double>(queries.size());
  for (double* value : {&sum.ndcg, &sum.map, &sum.mrr}) *value /= count;
  for (CutScores& cut : sum.cuts) {
    for (double* value : {&cut.ndcg, &cut.recall, &cut.precision, &cut.map, &cut.mrr}) {
      *value /= count;
    }
  }
  return sum;
}

}  // namespace longformer::tasks
