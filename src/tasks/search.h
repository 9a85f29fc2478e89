// Passages of long documents, ranked by how much they are like a query.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents.h"
#include "tasks/ranking.h"
#include "tasks/vectors.h"

namespace longformer::tasks {

// What a passage's score is made of; always the cosine between the query, read alone, and the
// passage.
enum class Context {
  kPassage,   // the passage read alone
  kDocument,  // the passage inside its document (late chunking)
  kBoth,      // the mean of the two
};
std::string_view context_name(Context context) noexcept;  // "passage", "document", "both"
std::optional<Context> context_from_name(std::string_view name) noexcept;

inline constexpr Context kDefaultContext = Context::kDocument;
inline constexpr int64_t kDefaultTop = 5;

struct SearchProgress {
  double share = 0;       // of all work, 0 to 1
  int64_t tokens = 0;     // read so far
  int64_t documents = 0;  // finished
};

struct SearchOptions {
  Context context = kDefaultContext;
  int64_t top = kDefaultTop;  // at least 1
  double min_score = -1;      // results below it are left out
  PassageOptions passages;
  std::function<void(const SearchProgress&)> progress;
  std::function<bool()> cancelled;
};

// What a search went through.
struct SearchSummary {
  int64_t documents = 0;
  int64_t passages = 0;
  int64_t tokens = 0;                   // of the documents
  int64_t windowed = 0;                 // documents that were read in several windows
  std::vector<std::string> unreadable;  // documents of mostly unknown words
  bool query_unreadable = false;
  std::vector<std::string> replaced;  // documents with bytes that are not UTF-8
  int64_t query_windows = 1;
  std::vector<io::SkippedFile> skipped;
};

// One query over any number of documents; only the best passages are kept in memory.
class Search {
 public:
  // Throws kInvalidArgument for a query without words, `top` below 1, or a passage budget that the
  // model cannot read.
  Search(TextModel& model, std::string_view query, const SearchOptions& options);

  // Reads one document; throws kCancelled.
  void add(const std::string& name, std::string_view text);
  // Reads files one after the other; one that cannot be read is skipped and reported.
  void add_files(const std::vector<std::string>& names);

  const SearchSummary& summary() const { return summary_; }
  const std::vector<SearchResult>& results() const { return ranking_.results(); }  // best first

 private:
  // Scores of one document, by passage and by sentence; -infinity where nothing was read.
  struct Scores {
    std::vector<double> passages;
    std::vector<double> sentences;
  };
  Scores score(const PreparedDocument& document, Reading reading, const Hooks& hooks);
  void rank(const std::string& name, std::string_view text, const PreparedDocument& document,
            const Scores& scores);

  TextModel& model_;
  SearchOptions options_;
  std::vector<float> query_;
  Ranking ranking_;
  SearchSummary summary_;
  double share_done_ = 0;      // of the work before the current document
  double share_document_ = 1;  // of the current document
};

}  // namespace longformer::tasks
