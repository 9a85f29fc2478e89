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
  TokenizedText text;
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
  std::vector<float> values;  // [dimension]
  int64_t windows = 1;
};

// The vector of a whole text. In one window: what the sentence-embedding reference computes,
// special tokens and prompt included. In several: every token counts once (from the window in whose
// middle it lies), with the special tokens and the prompt before the first window and the special
// tokens after the last; under cls and lasttoken, the mean of the windows' first or last states,
// weighted by the tokens kept of each. Then the modules behind the pooling.
DocumentVector document_vector(TextModel& model, const TokenizedText& text,
                               const Hooks& hooks = {});

// Where a passage gets its context from.
enum class Reading {
  kAlone,       // each passage is a text of its own
  kInDocument,  // the encoder reads the whole document; a passage pools its own token states (late
                // chunking)
};

struct PassageVectors {
  int64_t passage = 0;
  std::span<const float> values;  // [dimension]
  // [sentences of the passage, dimension], from the passage's own token states.
  std::span<const float> sentences;
  int64_t windows = 1;  // that the document was read in
};

// Visits the passages in order; one without tokens is left out. A passage inside a document and a
// sentence have no first and no last state of their own: for cls and lasttoken the mean serves
// there.
void passage_vectors(TextModel& model, const PreparedDocument& document, Reading reading,
                     const Hooks& hooks, const std::function<void(const PassageVectors&)>& visit);

}  // namespace longformer::tasks
