#include "tasks/search.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

namespace longformer::tasks {
namespace {

constexpr double kUnread = -std::numeric_limits<double>::infinity();

std::string slice(std::string_view text, const ByteRange& bytes) {
  return std::string(
      text.substr(static_cast<size_t>(bytes.begin), static_cast<size_t>(bytes.end - bytes.begin)));
}

// Work that a file stands for, before it is read.
double weight_of(const std::string& name) {
  std::error_code error;
  const auto size = std::filesystem::file_size(name, error);
  return error ? 1.0 : static_cast<double>(size) + 1.0;
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

Search::Search(TextModel& model, std::string_view query, const SearchOptions& options)
    : model_(model), options_(options), ranking_(options.top) {
  if (options.top < 1) {
    throw Error(ErrorCode::kInvalidArgument, "at least 1 result must be asked for", "top");
  }
  check_passage_tokens(model, options.passages);
  const text::Encoding tokens = model.tokenizer.encode(query, {.add_special_tokens = false});
  if (tokens.ids.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "holds no words; write what the passage should be about", "query");
  }
  summary_.query_unreadable = is_unreadable(model.tokenizer, tokens);
  Hooks hooks;
  hooks.cancelled = options.cancelled;
  DocumentVector vector = document_vector(model, tokens.ids, hooks);
  query_ = std::move(vector.values);
  summary_.query_windows = vector.windows;
}

void Search::add_files(const std::vector<std::string>& names) {
  std::vector<double> weights;
  double total = 0;
  for (const std::string& name : names) {
    weights.push_back(weight_of(name));
    total += weights.back();
  }
  for (size_t i = 0; i < names.size(); ++i) {
    share_document_ = weights[i] / total;
    std::optional<io::Document> document;
    try {
      document = io::read_document(names[i]);
    } catch (const Error& error) {
      summary_.skipped.push_back({names[i], error.what()});
    }
    if (document) {
      add(names[i], document->text);
      if (document->replaced) summary_.replaced.push_back(names[i]);
    }
    share_done_ += share_document_;
  }
}

void Search::add(const std::string& name, std::string_view text) {
  const PreparedDocument document = prepare(model_, text, options_.passages);
  const int64_t tokens = static_cast<int64_t>(document.tokens.size());
  if (is_unreadable(model_.tokenizer, document.tokens)) summary_.unreadable.push_back(name);
  const bool both = options_.context == Context::kBoth;
  double share_before = 0;  // of this document's work
  Hooks hooks;
  hooks.cancelled = options_.cancelled;
  if (options_.progress) {
    hooks.progress = [&](int64_t done, int64_t total) {
      const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
      const double share = share_before + part * (both ? 0.5 : 1.0);
      options_.progress(
          {share_done_ + share * share_document_,
           summary_.tokens + static_cast<int64_t>(share * static_cast<double>(tokens)),
           summary_.documents});
    };
  }
  Scores scores;
  if (options_.context != Context::kDocument) scores = score(document, Reading::kAlone, hooks);
  if (both) share_before = 0.5;
  if (options_.context != Context::kPassage) {
    Scores inside = score(document, Reading::kInDocument, hooks);
    if (both) {
      const auto average = [](double a, double b) { return (a + b) / 2; };
      std::transform(scores.passages.begin(), scores.passages.end(), inside.passages.begin(),
                     inside.passages.begin(), average);
      std::transform(scores.sentences.begin(), scores.sentences.end(), inside.sentences.begin(),
                     inside.sentences.begin(), average);
    }
    scores = std::move(inside);
  }
  rank(name, text, document, scores);
  ++summary_.documents;
  summary_.tokens += tokens;
  summary_.passages += static_cast<int64_t>(document.segmentation.passages.size());
}

Search::Scores Search::score(const PreparedDocument& document, Reading reading,
                             const Hooks& hooks) {
  const Segmentation& segmentation = document.segmentation;
  Scores scores;
  scores.passages.assign(segmentation.passages.size(), kUnread);
  scores.sentences.assign(segmentation.sentences.size(), kUnread);
  const size_t hidden = query_.size();
  int64_t windows = 1;
  passage_vectors(model_, document, reading, hooks, [&](const PassageVectors& vectors) {
    const Passage& passage = segmentation.passages[static_cast<size_t>(vectors.passage)];
    scores.passages[static_cast<size_t>(vectors.passage)] = cosine(vectors.values, query_);
    for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
      if (segmentation.sentences[static_cast<size_t>(i)].tokens() == 0) continue;
      scores.sentences[static_cast<size_t>(i)] =
          cosine(vectors.sentences.subspan(static_cast<size_t>(i - passage.sentence_begin) * hidden,
                                           hidden),
                 query_);
    }
    windows = vectors.windows;
  });
  if (windows > 1) ++summary_.windowed;
  return scores;
}

void Search::rank(const std::string& name, std::string_view text, const PreparedDocument& document,
                  const Scores& scores) {
  const Segmentation& segmentation = document.segmentation;
  for (size_t i = 0; i < segmentation.passages.size(); ++i) {
    const double value = scores.passages[i];
    // Written so that a NaN, which a broken model can give, never enters.
    if (!(value >= options_.min_score) || value == kUnread || !ranking_.would_enter(value))
      continue;
    const Passage& passage = segmentation.passages[i];
    const auto first = scores.sentences.begin() + passage.sentence_begin;
    const auto best = std::max_element(first, scores.sentences.begin() + passage.sentence_end);
    const Sentence& sentence =
        segmentation.sentences[static_cast<size_t>(best - scores.sentences.begin())];
    SearchResult result;
    result.score = value;
    result.file = name;
    result.line_start = passage.line_begin;
    result.line_end = passage.line_end;
    result.byte_start = passage.bytes.begin;
    result.byte_end = passage.bytes.end;
    result.passage = slice(text, passage.bytes);
    result.best_sentence = slice(text, sentence.bytes);
    result.best_sentence_start = sentence.bytes.begin - passage.bytes.begin;
    result.best_sentence_end = sentence.bytes.end - passage.bytes.begin;
    ranking_.add(std::move(result));
  }
}

}  // namespace longformer::tasks
