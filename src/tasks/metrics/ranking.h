// Rankings against relevance judgements, as trec_eval 9 (and pytrec_eval) measures them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace longformer::tasks {

// Of one query: document -> grade. Above 0: relevant; the grade is the gain of nDCG.
using Judgements = std::map<std::string, int64_t>;
struct Retrieved {
  std::string document;
  double score = 0;
};

struct CutScores {  // of the first k documents
  int64_t k = 0;
  double ndcg = 0;       // gain / log2(rank + 1), over that of the best possible order cut at k
  double recall = 0;     // relevant ones among them / all relevant ones
  double precision = 0;  // relevant ones among them / k, also where fewer were retrieved
  double map = 0;        // precision at each relevant rank up to k, summed, / all relevant ones
  double mrr = 0;        // 1 / rank of the first relevant one, 0 where it is not among them
};
struct RankingScores {
  double ndcg = 0;  // of the whole ranking
  double map = 0;
  double mrr = 0;
  std::vector<CutScores> cuts;
};

// Higher scores first; scores that are equal as 32-bit floats: the greater document name (bytewise)
// first, as trec_eval does. A document without a judgement is not relevant. A query without a
// relevant document scores 0 throughout. Each document stands once.
RankingScores ranking_scores(const Judgements& judgements, std::vector<Retrieved> retrieved,
                             std::span<const int64_t> cuts);

// The mean over queries; all have the same cuts. Throws kInvalidArgument when there is none.
RankingScores mean(std::span<const RankingScores> queries);

}  // namespace longformer::tasks
