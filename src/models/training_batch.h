// What a step of training reads: a ragged batch and what the model should have said.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "longformer/encoder.h"

namespace longformer {

inline constexpr int64_t kIgnoredLabel = -100;  // as in the reference: the row has no label

// Tokens of a sequence, both ends inclusive, as SQuAD counts.
struct TokenSpan {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const TokenSpan&) const = default;
};

// Which fields are read depends on the task (TaskInfo):
//   masked LM, token classification        classes, one a token
//   sequence classification, one label     classes, one a sequence
//     several labels, regression           values, [sequences, outputs]
//   multiple choice                        classes, one a question, and choices
//   question answering                     spans, one list a sequence
struct Targets {
  std::vector<int64_t> classes;  // kIgnoredLabel: none
  std::vector<float> values;
  std::vector<int64_t> choices;  // sequences of each question, one behind the other
  // All places where an answer stands; any of them is right. Empty: the sequence does not count.
  std::vector<std::vector<TokenSpan>> spans;
};

// One example is a batch of its own: a sequence, or the choices of one question.
struct TrainingBatch {
  EncoderInput input;
  Targets targets;
  // Of each sequence: which example of the data set it is. Keys of dropout: what is dropped in it
  // does not depend on the batch that it is in.
  std::vector<uint64_t> samples;
};

// Puts `example` behind the batch. Vectors of `input` that are empty in one of the two are filled
// with their defaults where the other needs them; position_ids must be given in both or in none.
void append(const TrainingBatch& example, TrainingBatch& batch);

// How many labels count: the weight of the batch's mean loss among other batches.
int64_t count_labels(const Targets& targets);

}  // namespace longformer
