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

}  // namespace

EmbeddingRecord embed_document(TextModel& model, const io::Document& document, const Hooks& hooks) {
  const std::string& text = document.text;
  const int64_t size = static_cast<int64_t>(text.size());
  const TokenizedText tokenized = tokenize(model, text, TextRole::kDocument);
  DocumentVector vector = document_vector(model, tokenized, hooks);
  EmbeddingRecord record;
  record.file = document.name;
  record.bytes = {document.first_byte, document.first_byte + size};
  record.citation = io::cite(document, 0, size);
  int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  if (lines > 1 && text.back() == '\n') --lines;
  cite_lines(document, 1, lines, record.citation);
  record.tokens = static_cast<int64_t>(tokenized.tokens.size());
  record.windows = vector.windows;
  record.unreadable = is_unreadable(model.tokenizer, tokenized.tokens);
  record.embedding = std::move(vector.values);
  return record;
}

void embed_passages(TextModel& model, const io::Document& document, Reading reading,
                    const PassageOptions& options, const Hooks& hooks,
                    const std::function<void(EmbeddingRecord)>& visit) {
  check_passage_tokens(model, options);
  const PreparedDocument prepared = prepare(model, document.text, options);
  const bool unreadable = is_unreadable(model.tokenizer, prepared.text.tokens);
  passage_vectors(model, prepared, reading, hooks, [&](const PassageVectors& vectors) {
    const Passage& passage = prepared.segmentation.passages[static_cast<size_t>(vectors.passage)];
    EmbeddingRecord record;
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
    record.unreadable = unreadable;
    record.embedding.assign(vectors.values.begin(), vectors.values.end());
    visit(std::move(record));
  });
}

}  // namespace longformer::tasks
