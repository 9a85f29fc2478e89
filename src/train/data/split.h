// Which rows of a file are for training and which for evaluation: by a hash, so that it needs no
// memory, does not depend on the order, and all rows of one group (one patient, one author) are on
// one side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/datasets/rows.h"

namespace longformer::train {

enum class SplitSide { kAll, kTraining, kEvaluation };

struct Split {
  SplitSide side = SplitSide::kAll;
  // Rows with equal cells here stay together. Empty: what the builder says (a document of CoNLL, a
  // context of questions), else each row by itself.
  std::string group_field;
  double share = 0.1;  // of the groups that are for evaluation, 0 to 1
  uint64_t seed = 0;
};

// Throws kInvalidArgument for a share that is none.
void check_split(const Split& split);
// Whether a group is on the side that is wanted.
bool takes(const Split& split, std::string_view group);

// The group of a row: the cell of the field, or `otherwise` where no field is given. Throws
// BadExample where the row has no such cell: it could be on both sides.
std::string group_of(const Split& split, const io::Row& row, const std::string& otherwise);

// 1: for evaluation. One a row; `field` empty: each row by itself. Throws kInvalidArgument naming
// the line of a row without the field.
std::vector<uint8_t> split_by_group(std::span<const io::Row> rows, const std::string& field,
                                    double share, uint64_t seed);

// "split evaluation 0.1 by patient seed 3"; empty for all rows.
std::string split_fact(const Split& split);

}  // namespace longformer::train
