// Questions with several choices, one of them right: rows as `choose` reads them.
#pragma once

#include <memory>
#include <string>

#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

struct ChooseFields {
  std::string context = "context";  // this one or the question may be absent
  std::string question = "question";
  std::string choices = "choices";  // a list of texts, two at least
  std::string label = "label";      // the number of the right one from 0, or what it says
};

// An example is all choices of a question, a sequence each, as tasks::cut_choices builds them.
// Contexts that are too long are cut off unless DataOptions::long_text refuses them; throws
// kInvalidArgument for windows, across which choices cannot be compared.
std::unique_ptr<TrainingData> choose_data(const DataModel& model, const DataOptions& options,
                                          const ChooseFields& fields = {});

}  // namespace longformer::train
