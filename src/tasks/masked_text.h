// How well a masked language model fills in what is hidden from it: RoBERTa's masking, the loss of
// the hidden tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tasks/task_text.h"

namespace longformer::tasks {

struct MaskSettings {
  int64_t mask_id = 0;
  int64_t vocabulary = 0;  // rows of the model's table; random tokens come from all of it,
  std::span<const int64_t> replacements = {};  // or where there are any, from these
  double share = 0.15;                         // of the tokens that are not special
  uint64_t seed = 0;
};

struct MaskedSequence {
  TaskSequence sequence;         // ids as the model sees them; wanted: 1 for a chosen token
  std::vector<int64_t> targets;  // the ids that stood there, in order
};

// What stands in the place of a chosen token: the mask (80 %), a random token (10 %) or itself. A
// function of `seed` and `place`.
int64_t hide_token(int64_t id, uint64_t seed, uint64_t place, const MaskSettings& settings);
bool is_chosen(uint64_t seed, uint64_t place, const MaskSettings& settings);

// Chooses each token of the text with probability `share`. Of the chosen ones 80 % become the mask,
// 10 % a random token, 10 % stay. What happens to a token depends on the number of its text, on how
// many tokens of that text stand in front (`before` of them in front of these) and the seed alone.
MaskedSequence mask_tokens(const text::Encoding& tokens, uint64_t number, uint64_t before,
                           const MaskSettings& settings);

// Adds log p of each hidden token of `texts` to `log_probabilities`, in order. A text longer than
// the model reads is cut into windows that share nothing. `number` counts texts from call to call.
void masked_log_probabilities(TaskTextModel& model, std::span<const std::string> texts,
                              const MaskSettings& settings, const TaskRun& run, uint64_t& number,
                              std::vector<double>& log_probabilities);

}  // namespace longformer::tasks
