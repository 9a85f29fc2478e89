// What cells of rows must be for a task: labels, numbers, lists. Each function gives an empty
// string where a cell will do, else what is wrong, to stand behind "the field X"; it may turn the
// cell into what the task needs. Evaluation and training read the same files through these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/datasets/rows.h"

namespace longformer::io {

std::string label_fault(Cell& cell);
// A finite number, or a text that spells one; `number` then holds it.
std::string number_fault(Cell& cell);
// A list of labels; a text with the separator between them becomes one.
std::string labels_fault(const std::string& separator, Cell& cell);

// Whether a cell is a list of strings, and which.
bool take_list(const Cell* cell, std::vector<std::string>& texts);

// The words and tags of a row, lists of equal length. No `words_field`: tags alone. The result is a
// sentence about the row.
std::string sentence_fault(const Row& row, const std::string& words_field,
                           const std::string& tags_field, std::vector<std::string>& words,
                           std::vector<std::string>& tags);

}  // namespace longformer::io
