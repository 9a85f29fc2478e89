#include "tasks/masked_text.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "longformer/error.h"
#include "tasks/metrics/language.h"

namespace longformer::tasks {
namespace {

constexpr double kMasked = 0.8;
constexpr double kReplaced = 0.5;  // of those that are not masked
constexpr uint64_t kDraws = 4;     // of each token
constexpr int64_t kHeldCalls = 8;  // of the encoder whose windows are kept at once

}  // namespace

bool is_chosen(uint64_t seed, uint64_t place, const MaskSettings& settings) {
  return random_uniform(seed, kDraws * place) < settings.share;
}

int64_t hide_token(int64_t id, uint64_t seed, uint64_t place, const MaskSettings& settings) {
  const uint64_t draw = kDraws * place;
  if (random_uniform(seed, draw + 1) < kMasked) return settings.mask_id;
  if (random_uniform(seed, draw + 2) >= kReplaced) return id;
  const double random = random_uniform(seed, draw + 3);
  if (settings.replacements.empty()) {
    return static_cast<int64_t>(random * static_cast<double>(settings.vocabulary));
  }
  const auto count = static_cast<double>(settings.replacements.size());
  return settings.replacements[static_cast<size_t>(random * count)];
}

MaskedSequence mask_tokens(const text::Encoding& tokens, uint64_t number, uint64_t before,
                           const MaskSettings& settings) {
  MaskedSequence result;
  result.sequence.tokens = tokens;
  result.sequence.wanted.assign(tokens.size(), 0);
  const uint64_t seed = random_bits(settings.seed, number);
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens.sequence[t] < 0) continue;  // special
    const uint64_t place = before++;
    if (!is_chosen(seed, place, settings)) continue;
    int64_t& id = result.sequence.tokens.ids[t];
    result.targets.push_back(id);
    result.sequence.wanted[t] = 1;
    id = hide_token(id, seed, place, settings);
  }
  return result;
}

void masked_log_probabilities(TaskTextModel& model, std::span<const std::string> texts,
                              const MaskSettings& settings, const TaskRun& run, uint64_t& number,
                              std::vector<double>& log_probabilities) {
  std::vector<TaskSequence> sequences;
  std::vector<std::vector<int64_t>> targets;
  int64_t tokens = 0;
  const auto outputs = static_cast<size_t>(model.model.info().outputs);
  const auto read = [&] {
    run_sequences(model, sequences, run, [&](size_t index, std::span<const float> logits, int64_t) {
      for (size_t i = 0; i < targets[index].size(); ++i) {
        log_probabilities.push_back(
            log_probability(logits.subspan(i * outputs, outputs), targets[index][i]));
      }
    });
    sequences.clear();
    targets.clear();
    tokens = 0;
  };
  for (const std::string& text : texts) {
    uint64_t before = 0;
    for (const text::Encoding& window : model.tokenizer.encode_windows(
             text, std::nullopt, {}, {.max_length = model.max_tokens()})) {
      MaskedSequence masked = mask_tokens(window, number, before, settings);
      before += static_cast<uint64_t>(
          std::count(window.sequence.begin(), window.sequence.end(), int8_t{0}));
      if (masked.targets.empty()) continue;  // nothing is hidden, nothing to read
      tokens += static_cast<int64_t>(window.size());
      sequences.push_back(std::move(masked.sequence));
      targets.push_back(std::move(masked.targets));
      if (tokens >= kHeldCalls * run.batch_tokens) read();
    }
    ++number;
  }
  if (!sequences.empty()) read();
}

}  // namespace longformer::tasks
