#include "tasks/ranking.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace longformer::tasks {

bool ranks_before(const SearchResult& a, const SearchResult& b) {
  if (a.score != b.score) return a.score > b.score;
  return std::tie(a.file, a.line_start, a.byte_start) <
         std::tie(b.file, b.line_start, b.byte_start);
}

bool Ranking::would_enter(double score) const {
  return results_.size() < limit_ || (limit_ > 0 && score >= results_.back().score);
}

void Ranking::add(SearchResult result) {
  if (!would_enter(result.score)) return;
  const auto place = std::upper_bound(results_.begin(), results_.end(), result, ranks_before);
  results_.insert(place, std::move(result));
  if (results_.size() > limit_) results_.pop_back();
}

}  // namespace longformer::tasks
