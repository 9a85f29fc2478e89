// How much of a passage's rank is due to its words, beside its vector.
//
//   score = cosine + weight * words,   words = BM25 / (largest BM25 of the passages searched)
//
// BM25 is FTS5's, k1 = 1.2 and b = 0.75, over stemmed words without accents; a passage counts with
// any of the query's words. A word that more than half of the collection's passages have says
// nothing (BM25 gives it no weight) and is left out. Passages that contain an identifier or a
// quoted phrase of the query verbatim stand before all others, the more of them the further ahead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/collection/collection.h"
#include "tasks/query_terms.h"
#include "tasks/ranking.h"

namespace longformer::tasks {

inline constexpr double kDefaultWordsWeight = 0.15;

// The passages of one file that takes part: consecutive in the collection and in the vectors.
struct PassageRun {
  int64_t first_passage = 0;
  int64_t first_position = 0;
  int64_t passages = 0;
  int64_t file = 0;  // in the order of names
};

struct FusionOptions {
  double words_weight = kDefaultWordsWeight;  // 0: vectors alone, and verbatim finds
  int64_t top = 5;
  double min_score = -1;
  int64_t passages = 0;  // of the whole collection; 0: those of the runs
};

struct FusedPassage {
  int64_t passage = 0;
  int64_t position = 0;
  int64_t file = 0;
  int64_t verbatim = 0;
  double score = 0;
  double cosine = 0;
  double words = 0;
  bool operator==(const FusedPassage&) const = default;
};

// The best passages of `runs`, best first. cosines[position]; a NaN never ranks.
std::vector<FusedPassage> fuse(const io::Collection& collection, std::vector<PassageRun> runs,
                               std::span<const double> cosines, const QueryTerms& terms,
                               const FusionOptions& options);

}  // namespace longformer::tasks
