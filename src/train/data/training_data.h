// Examples of a data set, as the trainer asks for them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/training_batch.h"

namespace longformer::train {

// What happened to records on their way to examples. Nothing is cut or left out in silence.
struct Notices {
  int64_t records = 0;             // read, on this side of the split
  int64_t skipped = 0;             // records, or spans of one, left out: they cannot be used
  int64_t truncated = 0;           // examples whose text was cut off
  int64_t truncated_tokens = 0;    // that were cut off
  int64_t windowed = 0;            // texts read in several windows
  int64_t unanswered = 0;          // windows without an answer in them
  int64_t dropped = 0;             // examples left out because an option says so
  int64_t widened = 0;             // spans that grew to whole words
  int64_t lost_words = 0;          // without a token, so that their tags are lost
  int64_t replaced = 0;            // documents with bytes that are not UTF-8
  std::vector<std::string> named;  // the first of those skipped: "notes.jsonl line 3: …"
  bool operator==(const Notices&) const = default;
};
// "skipped": 3, …: those that are not 0, in the order above.
std::vector<std::pair<std::string, int64_t>> counts_of(const Notices& notices);

class TrainingData {
 public:
  virtual ~TrainingData() = default;

  virtual int64_t examples() const = 0;
  // Of all its sequences. 0 <= example < examples().
  virtual int64_t tokens(int64_t example) const = 0;
  // A function of its arguments alone, whatever thread or batch asks; `samples` hold the index.
  // Throws kInvalidFile where the store of tokens is damaged.
  virtual TrainingBatch example(int64_t index, uint64_t seed, int64_t epoch) const = 0;
  // A line a fact: names, sizes and SHA-256 of the files, lengths, what chose and cut the records.
  virtual std::string identity() const = 0;
  // Throws kInvalidFile naming the first file that is not what it was when it was tokenised. Cheap
  // where size and time are unchanged.
  virtual void check_unchanged() const = 0;

  virtual const Notices& notices() const = 0;
  // Of the two kinds of classifier, in the order of the classes; else empty.
  virtual const std::vector<std::string>& labels() const = 0;
};

}  // namespace longformer::train
