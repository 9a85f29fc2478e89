#include "models/training_batch.h"

#include <algorithm>

namespace longformer {
namespace {

template <typename T>
void append_all(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// Values of one entry a token that may be absent.
template <typename T>
void append_tokens(const std::vector<T>& from, size_t count, T fallback, size_t before,
                   std::vector<T>& to) {
  if (from.empty() && to.empty()) return;
  to.resize(before, fallback);
  append_all(from, to);
  to.resize(before + count, fallback);
}

}  // namespace

void append(const TrainingBatch& example, TrainingBatch& batch) {
  const EncoderInput& from = example.input;
  EncoderInput& to = batch.input;
  const size_t before = to.input_ids.size();
  const size_t count = from.input_ids.size();
  append_all(from.lengths, to.lengths);
  append_all(from.input_ids, to.input_ids);
  append_tokens(from.attention_mask, count, uint8_t{1}, before, to.attention_mask);
  append_tokens(from.global_attention_mask, count, uint8_t{0}, before, to.global_attention_mask);
  append_tokens(from.token_type_ids, count, int64_t{0}, before, to.token_type_ids);
  append_all(from.position_ids, to.position_ids);
  append_all(example.targets.classes, batch.targets.classes);
  append_all(example.targets.values, batch.targets.values);
  append_all(example.targets.choices, batch.targets.choices);
  append_all(example.targets.spans, batch.targets.spans);
  append_all(example.samples, batch.samples);
}

int64_t count_labels(const Targets& targets) {
  const auto given = std::count_if(targets.classes.begin(), targets.classes.end(),
                                   [](int64_t label) { return label != kIgnoredLabel; });
  const auto answered = std::count_if(targets.spans.begin(), targets.spans.end(),
                                      [](const auto& places) { return !places.empty(); });
  return given + answered + static_cast<int64_t>(targets.values.size());
}

}  // namespace longformer
