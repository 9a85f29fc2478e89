// What searching files as they are and searching an index have in common: how a document's passages
// become vectors, what is kept of a passage, and how it is shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/collection/collection.h"
#include "io/documents/documents.h"
#include "tasks/ranking.h"
#include "tasks/vectors.h"

namespace longformer::tasks {

// What a passage's vector is made of; its score is the cosine between the query, read alone, and
// the passage.
enum class Context {
  kPassage,   // the passage read alone
  kDocument,  // the passage inside its document (late chunking)
  kBoth,      // the mean of the two: its cosine is the mean of theirs
};
std::string_view context_name(Context context) noexcept;  // "passage", "document", "both"
std::optional<Context> context_from_name(std::string_view name) noexcept;

// kDocument; kPassage for a model that pools its first or last token, which a passage inside a
// document lacks.
Context default_context(const TextModel& model) noexcept;

// A query as it meets the passages.
struct QueryVector {
  std::vector<float> values;  // of length 1, or all zero
  int64_t windows = 1;
  bool unreadable = false;
};
// Throws kInvalidArgument for a query without words.
QueryVector read_query(TextModel& model, std::string_view query, const Hooks& hooks);

// The first `dims` numbers (0: all), scaled to length 1; a zero vector stays one.
std::vector<float> unit_vector(std::span<const float> values, int64_t dims);

// Calls read(reading, hooks) for each reading that a context takes, kAlone first; the progress of
// the readings is counted together.
void for_each_reading(Context context, const Hooks& hooks,
                      const std::function<void(Reading, const Hooks&)>& read);

// Visits the passages of documents in order, those without tokens left out, with their vectors of
// length 1 (of two such the mean under kBoth).
void read_passage_vectors(TextModel& model, std::span<const PreparedDocument* const> documents,
                          Context context, int64_t dims, const Hooks& hooks,
                          const PassageVisitor& visit);

// What is kept of a passage of `document`; lines and bytes are those of the whole file.
io::CollectionPassage keep_passage(const io::Document& document, const Passage& passage);
// Everything of a result but scores, file and sentence.
SearchResult shown_passage(io::CollectionPassage passage);

// The sentence of a text that is most like the query, as bytes of the text.
ByteRange best_sentence(TextModel& model, std::string_view text, std::span<const float> query,
                        const Hooks& hooks);
void set_best_sentence(SearchResult& result, ByteRange sentence);

}  // namespace longformer::tasks
