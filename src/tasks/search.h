// Passages of long documents, ranked by how much they are like a query. The documents are read for
// this one query; index_search.h searches what was read before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents/documents.h"
#include "tasks/collection.h"
#include "tasks/document_queue.h"
#include "tasks/ranking.h"
#include "tasks/words.h"

namespace longformer::tasks {

inline constexpr int64_t kDefaultTop = 5;

struct SearchProgress {
  double share = 0;       // of all work, 0 to 1
  int64_t tokens = 0;     // read so far
  int64_t documents = 0;  // finished
};

struct SearchOptions {
  Context context = Context::kDocument;
  int64_t top = kDefaultTop;  // at least 1
  double min_score = -1;      // results below it are left out
  double words_weight = kDefaultWordsWeight;
  PassageOptions passages;
  io::ReadOptions read;
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

// One query over any number of documents. The rank of a passage depends on the words of all of
// them, so passages are kept until the end: their texts in a database that spills to a temporary
// file, three numbers each in memory.
class Search {
 public:
  // Throws kInvalidArgument for a query without words, `top` below 1, or a passage budget that the
  // model cannot read.
  Search(TextModel& model, std::string_view query, const SearchOptions& options);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Takes one document; short ones wait until they fill a call of the encoder. Throws kCancelled.
  void add(const std::string& name, std::string text);
  // The same for a document with marks, or for the next part of one.
  void add(io::Document document);
  // Reads files one after the other; one that cannot be read is skipped and reported.
  void add_files(const std::vector<std::string>& names);

  // Both read what still waits.
  const SearchSummary& summary();
  std::vector<SearchResult> results();  // best first

 private:
  struct Hit {
    double cosine = 0;
    ByteRange sentence;  // the best one, bytes of the passage
  };
  struct File {
    int64_t key = 0;
    std::string name;
    std::string kind;
    int64_t first = 0;  // hit
    int64_t hits = 0;
  };
  // Of a document.
  struct Scores {
    std::vector<double> passages;  // -infinity where nothing was read
    std::vector<double> sentences;
    int64_t windows = 1;
  };
  // What the files are of all work: this one, and those before it.
  struct Share {
    double before = 0;
    double own = 1;
  };
  void queue(int64_t key, io::Document document);
  // Takes away what an unfinished file has left.
  void forget(int64_t key);
  void read(DocumentBatch batch);
  std::vector<Scores> score(DocumentBatch batch, const Hooks& hooks);
  void score(DocumentBatch batch, Reading reading, const Hooks& hooks, std::vector<Scores>& scores);
  void keep(const WaitingDocument& waiting, const Scores& scores);
  void report(const WaitingDocument& waiting, double share);

  TextModel& model_;
  SearchOptions options_;
  QueryTerms terms_;
  QueryVector query_;
  io::Collection collection_;
  std::vector<File> files_;
  std::vector<Hit> hits_;
  SearchSummary summary_;
  std::vector<Share> shares_;  // by key, which is the number of the file
  DocumentQueue queue_;
};

// "passage tokens", "top": what both kinds of search check.
void check_top(int64_t top);

}  // namespace longformer::tasks
