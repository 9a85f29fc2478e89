#include "train/data/sequence_maker.h"

#include <algorithm>
#include <vector>

#include "train/data/example_sink.h"

namespace longformer::train {

SequenceMaker::SequenceMaker(const DataModel& model, const DataOptions& options)
    : model_(model), max_length_(max_length_of(model, options)) {
  if (!options.global.empty()) rule_ = tasks::GlobalRule::parse(options.global, model.info);
}

void SequenceMaker::begin(std::string_view first, std::string_view second) {
  if (!rule_) return;
  first_ = rule_->find(first);
  second_ = rule_->find(second);
}

void SequenceMaker::add(const text::Encoding& tokens, TrainingBatch& batch) const {
  EncoderInput& input = batch.input;
  input.lengths.push_back(static_cast<int64_t>(tokens.size()));
  input.input_ids.insert(input.input_ids.end(), tokens.ids.begin(), tokens.ids.end());
  // A model with one row of types reads all tokens as that one, pairs too.
  for (const int64_t type : tokens.type_ids) {
    input.token_type_ids.push_back(model_.type_vocab_size > 1 ? type : 0);
  }
  const std::vector<uint8_t> global = rule_ ? rule_->apply(model_.info, tokens, first_, second_)
                                            : default_global(model_.info, tokens.ids);
  input.global_attention_mask.insert(input.global_attention_mask.end(), global.begin(),
                                     global.end());
}

std::string long_text_name(tasks::LongText long_text) {
  if (long_text == tasks::LongText::kWindows) return "windows";
  return long_text == tasks::LongText::kTruncate ? "truncate" : "error";
}

void note_cut(const tasks::CutText& text, Notices& notices) {
  if (text.windows.size() > 1) ++notices.windowed;
  if (text.truncated_tokens == 0) return;
  ++notices.truncated;
  notices.truncated_tokens += text.truncated_tokens;
}

}  // namespace longformer::train
