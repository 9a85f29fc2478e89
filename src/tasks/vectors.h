// Vectors of documents and of their passages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tasks/model_files.h"
#include "tasks/passages.h"
#include "tasks/states.h"

namespace longformer::tasks {

// A text cut into tokens and passages.
struct PreparedDocument {
  text::Encoding tokens;  // without special tokens
  Segmentation segmentation;
};
// Throws kInvalidArgument for a passage budget below kMinPassageTokens or above what the model
// reads.
void check_passage_tokens(const TextModel& model, const PassageOptions& options);
// With the budget that the caller chose, checked, or else kPassageTokens or as many as the model
// reads.
PassageOptions passage_options(const TextModel& model, std::optional<int64_t> passage_tokens);
PreparedDocument prepare(const TextModel& model, std::string_view text,
                         const PassageOptions& options);

struct DocumentVector {
  std::vector<float> values;  // [hidden_size]
  int64_t windows = 1;
};

// The vector of a whole text. In one window: what the sentence-embedding reference computes,
// special tokens included. In several: every token counts once (from the window in whose middle it
// lies), with the special tokens before the first window and after the last; under cls, the mean of
// the windows' first states, weighted by the tokens kept of each. Normalised where the model says
// so.
DocumentVector document_vector(TextModel& model, std::span<const int64_t> ids,
                               const Hooks& hooks = {});

// Where a passage gets its context from.
enum class Reading {
  kAlone,       // each passage is a text of its own
  kInDocument,  // the encoder reads the whole document; a passage pools its own token states (late
                // chunking)
};

struct PassageVectors {
  int64_t passage = 0;
  std::span<const float> values;  // [hidden_size], normalised where the model says so
  std::span<const float>
      sentences;  // [sentences of the passage, hidden_size], from the passage's own token states
  int64_t windows = 1;  // that the document was read in
};

// Visits the passages in order; one without tokens is left out. A cls model has no first state
// inside a document and none for a sentence: the mean serves there.
void passage_vectors(TextModel& model, const PreparedDocument& document, Reading reading,
                     const Hooks& hooks, const std::function<void(const PassageVectors&)>& visit);

}  // namespace longformer::tasks
