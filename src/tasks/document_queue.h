// Documents that wait for others, so that short ones fill a call of the encoder together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/documents/documents.h"
#include "tasks/states.h"

namespace longformer::tasks {

// Bytes of text that wait at most, whatever tokens they give.
inline constexpr int64_t kWaitingBytes = int64_t{1} << 20;

struct WaitingDocument {
  int64_t key = 0;  // the caller's: which file this is, or is a part of
  io::Document document;
  PreparedDocument prepared;
};
using DocumentBatch = std::span<WaitingDocument>;

// First in, first out. Holds documents of kBatchTokens tokens, or one that has more.
class DocumentQueue {
 public:
  // `read` gets the documents that have waited, in order. What it throws comes out of add() and
  // flush(); the documents are gone then.
  explicit DocumentQueue(std::function<void(DocumentBatch)> read) : read_(std::move(read)) {}

  // Those before it are read first where they would not fit together; a full queue is read.
  void add(WaitingDocument document);
  void flush();
  // Takes those away that were added last with this key.
  void drop(int64_t key);

 private:
  static int64_t tokens_of(const WaitingDocument& document);

  std::function<void(DocumentBatch)> read_;
  std::vector<WaitingDocument> waiting_;
  int64_t tokens_ = 0;
  int64_t bytes_ = 0;
};

std::vector<const PreparedDocument*> prepared_documents(DocumentBatch batch);

// Progress of a batch as that of its documents one after the other: the one in work and the share
// of it that is done.
using BatchProgress = std::function<void(const WaitingDocument&, double share)>;
// Refers to all of its arguments.
Hooks batch_hooks(DocumentBatch batch, const BatchProgress& progress,
                  const std::function<bool()>& cancelled);

}  // namespace longformer::tasks
