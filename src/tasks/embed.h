// Vectors of documents, or of their passages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/documents.h"
#include "tasks/document_queue.h"
#include "tasks/vectors.h"

namespace longformer::tasks {

// One vector and what it stands for.
struct EmbeddingRecord {
  int64_t key = 0;  // what the caller gave with the document
  std::string file;
  std::optional<std::string> passage;  // its text; none: the whole document
  ByteRange bytes;                     // of the document
  io::Citation citation;
  int64_t tokens = 0;            // of the document or passage, special tokens not counted
  int64_t windows = 1;           // that the encoder read the document (or the passage alone) in
  bool unreadable = false;       // mostly words that the model does not know
  std::vector<float> embedding;  // [dimension]
};

struct EmbedSettings {
  std::optional<PassageOptions> passages;  // none: one vector a document
  Reading reading = Reading::kInDocument;  // of passages
  BatchProgress progress;
  std::function<bool()> cancelled;
};

// Takes documents, or parts of them, one after the other, and visits their records in that order:
// one of a document, or one of each passage that has tokens. Short documents wait until they fill a
// call of the encoder; flush() reads those that still wait.
class DocumentEmbedder {
 public:
  // Throws kInvalidArgument for a passage budget that the model cannot read.
  DocumentEmbedder(TextModel& model, EmbedSettings settings,
                   std::function<void(EmbeddingRecord)> visit);
  DocumentEmbedder(const DocumentEmbedder&) = delete;
  DocumentEmbedder& operator=(const DocumentEmbedder&) = delete;

  void add(int64_t key, io::Document document);
  void flush() { queue_.flush(); }

 private:
  void read(DocumentBatch batch);
  void read_whole(DocumentBatch batch, const Hooks& hooks);
  void read_passages(DocumentBatch batch, const Hooks& hooks);

  TextModel& model_;
  EmbedSettings settings_;
  std::function<void(EmbeddingRecord)> visit_;
  DocumentQueue queue_;
};

}  // namespace longformer::tasks
