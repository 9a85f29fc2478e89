// The best passages seen so far, in the order in which they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longformer::tasks {

struct SearchResult {
  double score = 0;  // cosine, -1 to 1
  std::string file;
  int64_t line_start = 0;  // counted from 1, both inclusive
  int64_t line_end = 0;
  int64_t byte_start = 0;  // half-open
  int64_t byte_end = 0;
  std::string passage;
  std::string best_sentence;        // the sentence of the passage that is most like the query
  int64_t best_sentence_start = 0;  // bytes into `passage`, half-open
  int64_t best_sentence_end = 0;
};

// Higher score first; equal scores by file name, then by place in the file.
bool ranks_before(const SearchResult& a, const SearchResult& b);

// Keeps at most `limit` results, so memory depends on the limit and not on what was searched.
class Ranking {
 public:
  explicit Ranking(int64_t limit) : limit_(static_cast<size_t>(limit)) {}

  // Whether a result with this score could enter; saves copying texts that cannot.
  bool would_enter(double score) const;
  void add(SearchResult result);
  const std::vector<SearchResult>& results() const { return results_; }  // best first

 private:
  size_t limit_;
  std::vector<SearchResult> results_;
};

}  // namespace longformer::tasks
