// Texts, or pairs, with a label, several labels or numbers each: JSON lines, CSV, TSV.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

struct ClassifyFields {
  std::string text = "text";
  std::string pair = "text_pair";  // of rows that have it
  std::string label = "label";
  std::string separator = ",";  // of several labels in one text
};

// The labels that the files have, sorted, for a head that is new; both sides of a split. Empty for
// a regression. Throws as classify_data for labels of the wrong kind.
std::vector<std::string> classify_labels(const DataOptions& options, const ClassifyFields& fields,
                                         Problem problem);

// By TaskInfo::problem of the model: a class a sequence; a value a label, 0 or 1; or the numbers
// (as many as the head has outputs, a list where there are several). A label that is none of
// TaskInfo::labels, by name or number, throws kInvalidFile with its line, whatever
// DataOptions::bad says. Windows of a long text are examples with the same label; of a pair the
// first text is windowed.
std::unique_ptr<TrainingData> classify_data(const DataModel& model, const DataOptions& options,
                                            const ClassifyFields& fields = {});

}  // namespace longformer::train
