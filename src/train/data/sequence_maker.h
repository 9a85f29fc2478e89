// Tokens of texts to the encoder's input: types, global tokens.
#pragma once

#include <optional>
#include <string_view>

#include "tasks/global_rule.h"
#include "text/tokenizer.h"
#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

class SequenceMaker {
 public:
  // Throws what GlobalRule::parse throws.
  SequenceMaker(const DataModel& model, const DataOptions& options);
  // The texts that the offsets of the next sequences point into.
  void begin(std::string_view first, std::string_view second = {});
  // Puts a sequence behind the batch.
  void add(const text::Encoding& tokens, TrainingBatch& batch) const;
  const DataModel& model() const { return model_; }
  tasks::TextSpace space() const { return {model_.tokenizer, max_length_}; }

 private:
  const DataModel& model_;
  int64_t max_length_;
  std::optional<tasks::GlobalRule> rule_;
  tasks::GlobalMatches first_;
  tasks::GlobalMatches second_;
};

// What happens to texts that are longer than a sequence, in words of facts: "windows".
std::string long_text_name(tasks::LongText long_text);

// Counts a text in notices: windows, or what was cut off.
void note_cut(const tasks::CutText& text, Notices& notices);

}  // namespace longformer::train
