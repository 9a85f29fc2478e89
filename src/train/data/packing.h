// Documents one behind the other, cut into sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "train/data/mlm_data.h"

namespace longformer::train {

// A place in the documents.
struct PackPlace {
  int64_t document = 0;
  int64_t token = 0;
};

struct PackPiece {
  int64_t document = 0;
  int64_t begin = 0;  // tokens
  int64_t end = 0;
};

struct PackRules {
  int64_t max_length = 0;
  int64_t prefix = 0;  // special tokens in front of a sequence
  int64_t suffix = 0;  // behind each piece
  Packing packing = Packing::kFill;
};

// The pieces of the sequence that begins at `place`, which moves behind it: none where the
// documents are at their end. `tokens(document)`: of each of `documents`.
std::vector<PackPiece> next_sequence(const PackRules& rules, int64_t documents,
                                     const std::function<int64_t(int64_t)>& tokens,
                                     PackPlace& place);

}  // namespace longformer::train
