#include "tasks/document_queue.h"

#include <algorithm>
#include <utility>

namespace longformer::tasks {

int64_t DocumentQueue::tokens_of(const WaitingDocument& document) {
  // One more for its frame: documents without tokens fill the queue too.
  return static_cast<int64_t>(document.prepared.text.tokens.ids.size()) + 1;
}

void DocumentQueue::add(WaitingDocument document) {
  const int64_t tokens = tokens_of(document);
  const int64_t bytes = static_cast<int64_t>(document.document.text.size());
  if (tokens_ + tokens > kBatchTokens || bytes_ + bytes > kWaitingBytes) flush();
  waiting_.push_back(std::move(document));
  tokens_ += tokens;
  bytes_ += bytes;
  if (tokens_ >= kBatchTokens || bytes_ >= kWaitingBytes) flush();
}

void DocumentQueue::flush() {
  std::vector<WaitingDocument> batch = std::exchange(waiting_, {});
  tokens_ = 0;
  bytes_ = 0;
  if (!batch.empty()) read_(batch);
}

void DocumentQueue::drop(int64_t key) {
  while (!waiting_.empty() && waiting_.back().key == key) {
    tokens_ -= tokens_of(waiting_.back());
    bytes_ -= static_cast<int64_t>(waiting_.back().document.text.size());
    waiting_.pop_back();
  }
}

std::vector<const PreparedDocument*> prepared_documents(DocumentBatch batch) {
  std::vector<const PreparedDocument*> documents;
  for (const WaitingDocument& waiting : batch) documents.push_back(&waiting.prepared);
  return documents;
}

Hooks batch_hooks(DocumentBatch batch, const BatchProgress& progress,
                  const std::function<bool()>& cancelled) {
  Hooks hooks;
  hooks.cancelled = cancelled;
  if (!progress) return hooks;
  hooks.progress = [batch, &progress](int64_t done, int64_t total) {
    const auto weight = [](const WaitingDocument& waiting) {
      return static_cast<double>(waiting.prepared.text.tokens.ids.size()) + 1;
    };
    double all = 0;
    for (const WaitingDocument& waiting : batch) all += weight(waiting);
    double left = total == 0 ? all : all * static_cast<double>(done) / static_cast<double>(total);
    size_t i = 0;
    for (; i + 1 < batch.size() && left >= weight(batch[i]); ++i) left -= weight(batch[i]);
    progress(batch[i], std::min(1.0, left / weight(batch[i])));
  };
  return hooks;
}

}  // namespace longformer::tasks
