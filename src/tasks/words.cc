#include "tasks/words.h"

#include <algorithm>
#include <utility>

namespace longformer::tasks {
namespace {

// What the passages of the runs have beside their vectors, by position.
class WordTable {
 public:
  WordTable(const std::vector<PassageRun>& runs, size_t positions)
      : runs_(runs), words_(positions, 0.0f), verbatim_(positions, 0) {}

  void find_words(const io::Collection& collection, const std::vector<std::string>& words,
                  int64_t passages) {
    std::string expression;
    for (const std::string& word : words) {
      // Looking up what stands everywhere costs more than all the rest.
      if (collection.count_matches(word, passages / 2 + 1) > passages / 2) continue;
      expression += (expression.empty() ? "" : " OR ") + word;
    }
    if (expression.empty()) return;
    double largest = 0;
    std::vector<std::pair<int64_t, double>> found;
    collection.match(expression, [&](int64_t passage, double bm25) {
      const int64_t position = position_of(passage);
      if (position < 0 || !(bm25 > 0)) return;
      found.emplace_back(position, bm25);
      largest = std::max(largest, bm25);
    });
    for (const auto& [position, bm25] : found) {
      words_[static_cast<size_t>(position)] = static_cast<float>(bm25 / largest);
    }
  }

  void find_verbatim(const io::Collection& collection, const Needle& needle) {
    bool any = false;
    const auto check = [&](int64_t passage, const std::string& text) {
      if (!contains(text, needle)) return;
      any = true;
      const int64_t position = position_of(passage);
      if (position >= 0) ++verbatim_[static_cast<size_t>(position)];
    };
    collection.match_texts(needle.expression, check);
    if (!any && needle.other_script) collection.contain(longest_piece(needle), check);
  }

  double words(int64_t position) const {
    return static_cast<double>(words_[static_cast<size_t>(position)]);
  }
  int64_t verbatim(int64_t position) const { return verbatim_[static_cast<size_t>(position)]; }

 private:
  // -1: not in any of the runs.
  int64_t position_of(int64_t passage) const {
    const auto behind =
        std::upper_bound(runs_.begin(), runs_.end(), passage,
                         [](int64_t id, const PassageRun& run) { return id < run.first_passage; });
    if (behind == runs_.begin()) return -1;
    const PassageRun& run = *(behind - 1);
    const int64_t k = passage - run.first_passage;
    return k < run.passages ? run.first_position + k : -1;
  }

  const std::vector<PassageRun>& runs_;  // by first_passage
  std::vector<float> words_;
  std::vector<uint8_t> verbatim_;
};

}  // namespace

std::vector<FusedPassage> fuse(const io::Collection& collection, std::vector<PassageRun> runs,
                               std::span<const double> cosines, const QueryTerms& terms,
                               const FusionOptions& options) {
  std::erase_if(runs, [](const PassageRun& run) { return run.passages == 0; });
  std::sort(runs.begin(), runs.end(), [](const PassageRun& a, const PassageRun& b) {
    return a.first_passage < b.first_passage;
  });
  WordTable table(runs, cosines.size());
  int64_t passages = options.passages;
  if (passages == 0) {
    for (const PassageRun& run : runs) passages += run.passages;
  }
  if (options.words_weight > 0) table.find_words(collection, terms.words, passages);
  for (const Needle& needle : terms.needles) table.find_verbatim(collection, needle);

  Ranking ranking(options.top);
  for (const PassageRun& run : runs) {
    for (int64_t k = 0; k < run.passages; ++k) {
      const int64_t position = run.first_position + k;
      const double score =
          cosines[static_cast<size_t>(position)] + options.words_weight * table.words(position);
      // Written so that a NaN, which a broken model can give, never enters.
      if (!(score >= options.min_score)) continue;
      ranking.add({table.verbatim(position), score, run.file, run.first_passage + k});
    }
  }
  std::vector<FusedPassage> best;
  for (const Candidate& candidate : ranking.take()) {
    const auto run = std::upper_bound(runs.begin(), runs.end(), candidate.passage,
                                      [](int64_t id, const PassageRun& other) {
                                        return id < other.first_passage;
                                      }) -
                     1;
    FusedPassage passage;
    passage.passage = candidate.passage;
    passage.position = run->first_position + candidate.passage - run->first_passage;
    passage.file = candidate.file;
    passage.verbatim = candidate.verbatim;
    passage.score = candidate.score;
    passage.cosine = cosines[static_cast<size_t>(passage.position)];
    passage.words = table.words(passage.position);
    best.push_back(passage);
  }
  return best;
}

}  // namespace longformer::tasks
