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
//
// Of several texts, in their order; they share calls of the encoder, and the bits of each are those
// of the text by itself.
std::vector<DocumentVector> document_vectors(TextModel& model,
                                             std::span<const TokenizedText* const> texts,
                                             const Hooks& hooks = {});
DocumentVector document_vector(TextModel& model, const TokenizedText& text,
                               const Hooks& hooks = {});

// Where a passage gets its context from.
enum class Reading {
  kAlone,       // each passage is a text of its own
  kInDocument,  // the encoder reads the whole document; a passage pools its own token states (late
                // chunking)
};

struct PassageReading {
  Reading reading = Reading::kInDocument;
  bool sentences = false;  // also a vector of each sentence
};

struct PassageVectors {
  int64_t document = 0;  // of those given
  int64_t passage = 0;
  std::span<const float> values;  // [dimension]
  // [sentences of the passage, dimension], from the passage's own token states; empty where they
  // were not asked for.
  std::span<const float> sentences;
  int64_t windows = 1;  // that the document was read in
};
using PassageVisitor = std::function<void(const PassageVectors&)>;

// Visits the passages of all documents in order; one without tokens is left out. A passage inside a
// document and a sentence have no first and no last state of their own: for cls and lasttoken the
// mean serves there. The documents share calls of the encoder, and the bits are those of each by
// itself.
void passage_vectors(TextModel& model, std::span<const PreparedDocument* const> documents,
                     const PassageReading& reading, const Hooks& hooks,
                     const PassageVisitor& visit);

}  // namespace longformer::tasks
