// Tokens with tags: CoNLL columns, rows of words and tags, rows of texts with spans, brat.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

// What the tokens of a word behind its first one learn.
enum class OtherPieces {
  kIgnored,  // nothing
  kInside,   // the tag of the word, I-X where that is B-X
};

struct TagDataOptions {
  int64_t column = -1;  // of CoNLL, as io::parse_conll
  std::string words = "words";
  std::string tags = "tags";
  std::string text = "text";
  // {"start", "end", "label"}, code points, half-open; or [start, end, label]. Rows without it may
  // have "entities".
  std::string spans = "spans";
  OtherPieces other_pieces = OtherPieces::kIgnored;
};

// By name: .jsonl is rows (of words and tags, or of texts and spans); .txt with an .ann beside it
// is brat; anything else is columns. Spans become B-X and I-X of whole words, or X where the labels
// know no B-X; those that overlap, lie outside the text or are in several pieces are bad records. A
// split without a field keeps documents of CoNLL (-DOCSTART-) and of brat whole.
//
// The first token of a word has its tag. Longer texts: windows as `tag` reads them, a tag counts in
// the window in whose middle it lies.
std::unique_ptr<TrainingData> tag_data(const DataModel& model, const DataOptions& options,
                                       const TagDataOptions& how = {});

// The tags that the files have, sorted, for a head that is new: with O, B-X and I-X of spans.
std::vector<std::string> tag_labels(const DataOptions& options, const TagDataOptions& how = {});

}  // namespace longformer::train
