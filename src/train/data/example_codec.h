// An example as a record of 32-bit numbers, and back.
//
//   sequences, tokens, classes, values, choices, spans of all lists (-1: no lists), runs of types,
//   runs of global tokens; lengths; ids; classes; values (bits of float); choices; for each
//   sequence the number of its spans and the first and last token of each; runs: value, first,
//   count
//
// Masks and types are runs: a pair has three, a window around a question one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/training_batch.h"

namespace longformer::train {

// Throws kInvalidArgument for a number that 32 bits do not hold. `samples`, masks of padding and
// positions are not kept.
std::vector<int32_t> encode_example(const TrainingBatch& example);

// The tokens of a record. Both throw kInvalidFile with `place` for what no example encodes to;
// `ids` is the size of the vocabulary.
int64_t example_tokens(std::span<const int32_t> record, const std::string& place);
TrainingBatch decode_example(std::span<const int32_t> record, int64_t ids,
                             const std::string& place);

}  // namespace longformer::train
