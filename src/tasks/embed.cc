#include "tasks/embed.h"

#include <algorithm>
#include <utility>

namespace longformer::tasks {
namespace {

// Lines of the file, from 1, of a text that begins behind `before` lines.
void cite_lines(const io::Document& document, int64_t first, int64_t last, io::Citation& citation) {
  citation.line_start = document.first_line + first;
  citation.line_end = document.first_line + last;
}

EmbeddingRecord whole_record(const TextModel& model, const WaitingDocument& waiting,
                             DocumentVector vector) {
  const io::Document& document = waiting.document;
  const std::string& text = document.text;
  const int64_t size = static_cast<int64_t>(text.size());
  EmbeddingRecord record;
  record.key = waiting.key;
  record.file = document.name;
  record.bytes = {document.first_byte, document.first_byte + size};
  record.citation = io::cite(document, 0, size);
  int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  if (lines > 1 && text.back() == '\n') --lines;
  cite_lines(document, 1, lines, record.citation);
  record.tokens = static_cast<int64_t>(waiting.prepared.text.tokens.size());
  record.windows = vector.windows;
  record.unreadable = is_unreadable(model.tokenizer, waiting.prepared.text.tokens);
  record.embedding = std::move(vector.values);
  return record;
}

EmbeddingRecord passage_record(const WaitingDocument& waiting, const PassageVectors& vectors) {
  const io::Document& document = waiting.document;
  const Passage& passage =
      waiting.prepared.segmentation.passages[static_cast<size_t>(vectors.passage)];
  EmbeddingRecord record;
  record.key = waiting.key;
  record.file = document.name;
  record.passage =
      document.text.substr(static_cast<size_t>(passage.bytes.begin),
                           static_cast<size_t>(passage.bytes.end - passage.bytes.begin));
  record.bytes = {document.first_byte + passage.bytes.begin,
                  document.first_byte + passage.bytes.end};
  record.citation = io::cite(document, passage.bytes.begin, passage.bytes.end);
  cite_lines(document, passage.line_begin, passage.line_end, record.citation);
  record.tokens = passage.tokens();
  record.windows = vectors.windows;
  record.embedding.assign(vectors.values.begin(), vectors.values.end());
  return record;
}

}  // namespace

DocumentEmbedder::DocumentEmbedder(TextModel& model, EmbedSettings settings,
                                   std::function<void(EmbeddingRecord)> visit)
    : model_(model),
      settings_(std::move(settings)),
      visit_(std::move(visit)),
      queue_([this](DocumentBatch batch) { read(batch); }) {
  if (settings_.passages) check_passage_tokens(model, *settings_.passages);
}

void DocumentEmbedder::add(int64_t key, io::Document document) {
  WaitingDocument waiting{key, std::move(document), {}};
  const std::string& text = waiting.document.text;
  if (settings_.passages) {
    waiting.prepared = prepare(model_, text, *settings_.passages);
  } else {
    waiting.prepared.text = tokenize(model_, text, TextRole::kDocument);
    drop_offsets(waiting.prepared.text);
  }
  queue_.add(std::move(waiting));
}

void DocumentEmbedder::read(DocumentBatch batch) {
  const Hooks hooks = batch_hooks(batch, settings_.progress, settings_.cancelled);
  settings_.passages ? read_passages(batch, hooks) : read_whole(batch, hooks);
}

void DocumentEmbedder::read_whole(DocumentBatch batch, const Hooks& hooks) {
  std::vector<const TokenizedText*> texts;
  for (const WaitingDocument& waiting : batch) texts.push_back(&waiting.prepared.text);
  std::vector<DocumentVector> vectors = document_vectors(model_, texts, hooks);
  for (size_t i = 0; i < batch.size(); ++i) {
    visit_(whole_record(model_, batch[i], std::move(vectors[i])));
  }
}

void DocumentEmbedder::read_passages(DocumentBatch batch, const Hooks& hooks) {
  std::vector<bool> unreadable;
  for (const WaitingDocument& waiting : batch) {
    unreadable.push_back(is_unreadable(model_.tokenizer, waiting.prepared.text.tokens));
  }
  passage_vectors(model_, prepared_documents(batch), {settings_.reading}, hooks,
                  [&](const PassageVectors& vectors) {
                    const auto document = static_cast<size_t>(vectors.document);
                    EmbeddingRecord record = passage_record(batch[document], vectors);
                    record.unreadable = unreadable[document];
                    visit_(std::move(record));
                  });
}

}  // namespace longformer::tasks
