// Running text with some of its tokens hidden: documents packed into sequences, hidden anew in each
// epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

// What a plain text file is; files of rows (.jsonl, .csv, .tsv) have a document a row.
enum class TextFiles {
  kDocument,       // one document: any kind that `search` reads
  kDocumentALine,  // blank lines are passed over
};

enum class Packing {
  kFill,   // sequences are full; a document goes on in the next one wherever it is cut
  kWhole,  // a document that fits a sequence is not cut: it begins a new one where there is no room
};

struct MlmOptions {
  TextFiles files = TextFiles::kDocument;
  std::string text = "text";  // field of rows
  Packing packing = Packing::kFill;
  int64_t min_tokens = 1;  // sequences with fewer tokens of text are left out and counted
  double mlm_probability = 0.15;
  int64_t mask_id = 0;  // tasks::mask_token()
};

// [CLS] document [SEP] document [SEP] …, at most max_length tokens, with the special tokens of the
// tokenizer's own template; a document that is longer goes on in the next sequence. No token of
// the texts is lost but by min_tokens, and none is read twice; DataOptions::stride must be absent
// and long_text absent or kWindows.
//
// Hidden are tokens that are not special, each with mlm_probability, one at least where there is
// any: 80 % become the mask, 10 % another token of the vocabulary that is not special, 10 % stay. A
// function of seed, epoch, example and place in it.
std::unique_ptr<TrainingData> mlm_data(const DataModel& model, const DataOptions& options,
                                       const MlmOptions& how);

}  // namespace longformer::train
