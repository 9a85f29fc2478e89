// Vectors of documents, or of their passages, one record at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/documents.h"
#include "tasks/vectors.h"

namespace longformer::tasks {

// One vector and what it stands for.
struct EmbeddingRecord {
  std::string file;
  std::optional<std::string> passage;  // its text; none: the whole document
  ByteRange bytes;                     // of the document
  io::Citation citation;
  int64_t tokens = 0;            // of the document or passage, special tokens not counted
  int64_t windows = 1;           // that the encoder read the document (or the passage alone) in
  bool unreadable = false;       // mostly words that the model does not know
  std::vector<float> embedding;  // [dimension]
};

// The vector of a whole text.
EmbeddingRecord embed_document(TextModel& model, const io::Document& document,
                               const Hooks& hooks = {});

// The vectors of its passages, in order; passages without a token have none.
void embed_passages(TextModel& model, const io::Document& document, Reading reading,
                    const PassageOptions& options, const Hooks& hooks,
                    const std::function<void(EmbeddingRecord)>& visit);

}  // namespace longformer::tasks
