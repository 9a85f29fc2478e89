// Searching an index: one product of the query with all vectors, words and verbatim finds beside
// it, and the texts of the best passages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/collection/collection.h"
#include "tasks/collection.h"
#include "tasks/ranking.h"
#include "tasks/search.h"
#include "tasks/words.h"

namespace longformer {
class ThreadPool;
}

namespace longformer::tasks {

// An index as it was at one commit; whatever is written meanwhile is not seen.
class IndexReader {
 public:
  // Throws kNotFound, or kInvalidFile for what is no index, a damaged one or another format.
  explicit IndexReader(const std::filesystem::path& directory);
  ~IndexReader();
  IndexReader(IndexReader&&) noexcept;
  IndexReader& operator=(IndexReader&&) noexcept;

  const std::filesystem::path& directory() const;
  const io::Collection& collection() const;
  const io::VectorReader& vectors() const;
  const std::vector<io::CollectionFile>& files() const;  // by path
  // The directory of the model that built it, as it was then.
  std::filesystem::path model_directory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct IndexSearchOptions {
  int64_t top = kDefaultTop;
  double min_score = -1;
  double words_weight = kDefaultWordsWeight;
  // Globs as io::matches_glob() takes them, over names as they are shown and absolute ones, or
  // names of directories; a file takes part when one matches. None: all files. One that matches no
  // file is refused.
  std::vector<std::string> paths;
  bool sentences = true;  // find the best sentence of each result, which reads it with the model
  std::function<bool()> cancelled;
};

struct IndexSearchOutcome {
  std::vector<SearchResult> results;  // best first
  int64_t documents = 0;              // that took part
  int64_t passages = 0;
  int64_t query_windows = 1;
  bool query_unreadable = false;
};

// Throws kInvalidArgument when the model is not the one of the index, naming the difference; for a
// query without words; for `top` below 1.
IndexSearchOutcome search_index(TextModel& model, const std::filesystem::path& model_directory,
                                const IndexReader& index, std::string_view query,
                                const IndexSearchOptions& options);

// The cosines of a query of the vectors' size with the vectors of `runs`, by position; -infinity
// elsewhere. The bits do not depend on the number of threads. Throws kInvalidFile for vectors that
// are not finite or have an impossible scale.
std::vector<double> scan_vectors(const io::VectorReader& vectors, std::vector<PassageRun> runs,
                                 std::span<const float> query, ThreadPool& pool);

}  // namespace longformer::tasks
