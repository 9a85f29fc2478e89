#include "tasks/ranking.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace longformer::tasks {

bool ranks_before(const Candidate& a, const Candidate& b) {
  return std::tie(b.verbatim, b.score, a.file, a.passage) <
         std::tie(a.verbatim, a.score, b.file, b.passage);
}

void Ranking::add(const Candidate& candidate) {
  if (heap_.size() == limit_) {
    if (limit_ == 0 || !ranks_before(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), ranks_before);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), ranks_before);
}

std::vector<Candidate> Ranking::take() {
  std::sort(heap_.begin(), heap_.end(), ranks_before);
  return std::exchange(heap_, {});
}

}  // namespace longformer::tasks
