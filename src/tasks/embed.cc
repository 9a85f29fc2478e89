#include "tasks/embed.h"

#include <algorithm>
#include <utility>

namespace longformer::tasks {

EmbeddingRecord embed_document(TextModel& model, const std::string& file, std::string_view text,
                               const Hooks& hooks) {
  const text::Encoding tokens = model.tokenizer.encode(text, {.add_special_tokens = false});
  DocumentVector vector = document_vector(model, tokens.ids, hooks);
  EmbeddingRecord record;
  record.file = file;
  record.bytes = {0, static_cast<int64_t>(text.size())};
  record.line_end = 1 + std::count(text.begin(), text.end(), '\n');
  if (record.line_end > 1 && text.back() == '\n') --record.line_end;
  record.tokens = static_cast<int64_t>(tokens.size());
  record.windows = vector.windows;
  record.unreadable = is_unreadable(model.tokenizer, tokens);
  record.embedding = std::move(vector.values);
  return record;
}

void embed_passages(TextModel& model, const std::string& file, std::string_view text,
                    Reading reading, const PassageOptions& options, const Hooks& hooks,
                    const std::function<void(EmbeddingRecord)>& visit) {
  check_passage_tokens(model, options);
  const PreparedDocument document = prepare(model, text, options);
  const bool unreadable = is_unreadable(model.tokenizer, document.tokens);
  passage_vectors(model, document, reading, hooks, [&](const PassageVectors& vectors) {
    const Passage& passage = document.segmentation.passages[static_cast<size_t>(vectors.passage)];
    EmbeddingRecord record;
    record.file = file;
    record.passage =
        std::string(text.substr(static_cast<size_t>(passage.bytes.begin),
                                static_cast<size_t>(passage.bytes.end - passage.bytes.begin)));
    record.bytes = passage.bytes;
    record.line_start = passage.line_begin;
    record.line_end = passage.line_end;
    record.tokens = passage.tokens();
    record.windows = vectors.windows;
    record.unreadable = unreadable;
    record.embedding.assign(vectors.values.begin(), vectors.values.end());
    visit(std::move(record));
  });
}

}  // namespace longformer::tasks
