// From the scores of passages to the order in which they are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longformer::tasks {

struct SearchResult {
  double score = 0;      // cosine + weight of words * words
  double cosine = 0;     // of query and passage, -1 to 1
  double words = 0;      // BM25 of the query's words over the largest of the search, 0 to 1
  int64_t verbatim = 0;  // identifiers and quoted phrases of the query that the passage contains
  std::string file;
  std::string kind;        // io::document_kind_name()
  int64_t line_start = 0;  // counted from 1, both inclusive
  int64_t line_end = 0;
  int64_t byte_start = 0;  // half-open
  int64_t byte_end = 0;
  std::optional<int64_t> page_start;
  std::optional<int64_t> page_end;
  std::vector<std::string> headings;  // outermost first
  std::string anchor;
  std::string passage;
  std::string best_sentence;        // the sentence of the passage that is most like the query
  int64_t best_sentence_start = 0;  // bytes into `passage`, half-open
  int64_t best_sentence_end = 0;
};

// What decides about the place of a passage.
struct Candidate {
  int64_t verbatim = 0;
  double score = 0;
  int64_t file = 0;     // in the order of names
  int64_t passage = 0;  // in the order of the collection
};

// More verbatim finds first, then the higher score; equal ones by file, then by place in the file.
bool ranks_before(const Candidate& a, const Candidate& b);

// Keeps at most `limit` candidates.
class Ranking {
 public:
  explicit Ranking(int64_t limit) : limit_(static_cast<size_t>(limit)) {}

  void add(const Candidate& candidate);
  std::vector<Candidate> take();  // best first

 private:
  size_t limit_;
  std::vector<Candidate> heap_;  // the worst on top
};

}  // namespace longformer::tasks
