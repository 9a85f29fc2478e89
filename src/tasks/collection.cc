#include "tasks/collection.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace longformer::tasks {
namespace {

// Progress of one of `count` readings of the same text.
Hooks part_of(const Hooks& hooks, int64_t index, int64_t count) {
  Hooks part;
  part.cancelled = hooks.cancelled;
  if (hooks.progress) {
    part.progress = [&hooks, index, count](int64_t done, int64_t total) {
      hooks.progress(index * total + done, count * total);
    };
  }
  return part;
}

}  // namespace

std::string_view context_name(Context context) noexcept {
  switch (context) {
    case Context::kPassage:
      return "passage";
    case Context::kDocument:
      return "document";
    case Context::kBoth:
      return "both";
  }
  return "";
}

std::optional<Context> context_from_name(std::string_view name) noexcept {
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    if (context_name(context) == name) return context;
  }
  return std::nullopt;
}

Context default_context(const TextModel& model) noexcept {
  return model.takes_one_state() ? Context::kPassage : Context::kDocument;
}

QueryVector read_query(TextModel& model, std::string_view query, const Hooks& hooks) {
  const TokenizedText text = tokenize(model, query, TextRole::kQuery);
  if (text.tokens.ids.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "holds no words; write what the passage should be about", "query");
  }
  const DocumentVector vector = document_vector(model, text, hooks);
  return {unit_vector(vector.values, 0), vector.windows,
          is_unreadable(model.tokenizer, text.tokens)};
}

std::vector<float> unit_vector(std::span<const float> values, int64_t dims) {
  if (dims > 0) values = values.first(std::min(values.size(), static_cast<size_t>(dims)));
  std::vector<float> unit(values.begin(), values.end());
  normalize(unit);
  return unit;
}

void for_each_reading(Context context, const Hooks& hooks,
                      const std::function<void(Reading, const Hooks&)>& read) {
  if (context == Context::kBoth) {
    read(Reading::kAlone, part_of(hooks, 0, 2));
    read(Reading::kInDocument, part_of(hooks, 1, 2));
    return;
  }
  read(context == Context::kPassage ? Reading::kAlone : Reading::kInDocument, hooks);
}

void read_passage_vectors(TextModel& model, std::span<const PreparedDocument* const> documents,
                          Context context, int64_t dims, const Hooks& hooks,
                          const PassageVisitor& visit) {
  std::vector<std::vector<std::vector<float>>> alone;  // by document and passage
  if (context == Context::kBoth) {
    for (const PreparedDocument* document : documents) {
      alone.emplace_back(document->segmentation.passages.size());
    }
  }
  for_each_reading(context, hooks, [&](Reading reading, const Hooks& part) {
    passage_vectors(model, documents, {reading}, part, [&](PassageVectors vectors) {
      std::vector<float> vector = unit_vector(vectors.values, dims);
      if (context == Context::kBoth) {
        std::vector<float>& other =
            alone[static_cast<size_t>(vectors.document)][static_cast<size_t>(vectors.passage)];
        if (reading == Reading::kAlone) {
          other = std::move(vector);
          return;
        }
        for (size_t i = 0; i < vector.size(); ++i) vector[i] = (vector[i] + other[i]) / 2;
      }
      vectors.values = vector;
      visit(vectors);
    });
  });
}

io::CollectionPassage keep_passage(const io::Document& document, const Passage& passage) {
  io::Citation citation = io::cite(document, passage.bytes.begin, passage.bytes.end);
  io::CollectionPassage kept;
  kept.line_start = document.first_line + passage.line_begin;
  kept.line_end = document.first_line + passage.line_end;
  kept.byte_start = document.first_byte + passage.bytes.begin;
  kept.byte_end = document.first_byte + passage.bytes.end;
  kept.page_start = citation.page_start;
  kept.page_end = citation.page_end;
  kept.headings = std::move(citation.headings);
  kept.anchor = std::move(citation.anchor);
  kept.text = document.text.substr(static_cast<size_t>(passage.bytes.begin),
                                   static_cast<size_t>(passage.bytes.end - passage.bytes.begin));
  return kept;
}

SearchResult shown_passage(io::CollectionPassage passage) {
  SearchResult result;
  result.line_start = passage.line_start;
  result.line_end = passage.line_end;
  result.byte_start = passage.byte_start;
  result.byte_end = passage.byte_end;
  result.page_start = passage.page_start;
  result.page_end = passage.page_end;
  result.headings = std::move(passage.headings);
  result.anchor = std::move(passage.anchor);
  result.passage = std::move(passage.text);
  return result;
}

ByteRange best_sentence(TextModel& model, std::string_view text, std::span<const float> query,
                        const Hooks& hooks) {
  const PreparedDocument document = prepare(model, text, passage_options(model, {}));
  const Segmentation& segmentation = document.segmentation;
  ByteRange best{0, static_cast<int64_t>(text.size())};
  double highest = -std::numeric_limits<double>::infinity();
  const PreparedDocument* documents[] = {&document};
  const PassageReading reading{Reading::kAlone, /*sentences=*/true};
  passage_vectors(model, documents, reading, hooks, [&](const PassageVectors& vectors) {
    const Passage& passage = segmentation.passages[static_cast<size_t>(vectors.passage)];
    const size_t size = static_cast<size_t>(model.dimension());
    for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
      const Sentence& sentence = segmentation.sentences[static_cast<size_t>(i)];
      if (sentence.tokens() == 0) continue;
      const double score = cosine(
          vectors.sentences.subspan(static_cast<size_t>(i - passage.sentence_begin) * size, size),
          query);
      if (score <= highest) continue;
      highest = score;
      best = sentence.bytes;
    }
  });
  return best;
}

void set_best_sentence(SearchResult& result, ByteRange sentence) {
  result.best_sentence_start = sentence.begin;
  result.best_sentence_end = sentence.end;
  result.best_sentence = result.passage.substr(static_cast<size_t>(sentence.begin),
                                               static_cast<size_t>(sentence.end - sentence.begin));
}

}  // namespace longformer::tasks
