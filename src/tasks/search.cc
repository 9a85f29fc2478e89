#include "tasks/search.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>

namespace longformer::tasks {
namespace {

constexpr double kUnread = -std::numeric_limits<double>::infinity();

// Work that a file stands for, before it is read.
double weight_of(const std::string& name) {
  std::error_code error;
  const auto size = std::filesystem::file_size(name, error);
  return error ? 1.0 : static_cast<double>(size) + 1.0;
}

void average(std::vector<double>& into, const std::vector<double>& other) {
  std::transform(into.begin(), into.end(), other.begin(), into.begin(),
                 [](double a, double b) { return (a + b) / 2; });
}

}  // namespace

void check_top(int64_t top) {
  if (top >= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "at least 1 result must be asked for", "top");
}

Search::Search(TextModel& model, std::string_view query, const SearchOptions& options)
    : model_(model),
      options_(options),
      terms_(parse_query(query)),
      collection_(io::Collection::temporary()),
      queue_([this](DocumentBatch batch) { read(batch); }) {
  check_top(options.top);
  check_passage_tokens(model, options.passages);
  Hooks hooks;
  hooks.cancelled = options.cancelled;
  query_ = read_query(model, query, hooks);
  summary_.query_unreadable = query_.unreadable;
  summary_.query_windows = query_.windows;
  collection_.begin();
}

void Search::add_files(const std::vector<std::string>& names) {
  std::vector<double> weights;
  for (const std::string& name : names) weights.push_back(weight_of(name));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double before = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t key = static_cast<int64_t>(shares_.size());
    shares_.push_back({before, weights[i] / total});
    before += shares_.back().own;
    std::exception_ptr failure;  // ours, not the file's
    try {
      io::read_document(names[i], options_.read, [&](io::Document part) {
        try {
          queue(key, std::move(part));
        } catch (...) {
          failure = std::current_exception();
          throw;
        }
      });
    } catch (const Error& error) {
      if (failure) std::rethrow_exception(failure);
      forget(key);
      summary_.skipped.push_back({names[i], error.what()});
    }
  }
  queue_.flush();
}

void Search::forget(int64_t key) {
  queue_.drop(key);
  if (files_.empty() || files_.back().key != key) return;
  const File& file = files_.back();
  io::CollectionFile gone;
  gone.first_passage = file.first + 1;
  gone.passages = file.hits;
  collection_.remove_file(gone);
  hits_.resize(static_cast<size_t>(file.first));
  summary_.passages -= file.hits;
  files_.pop_back();
}

void Search::add(const std::string& name, std::string text) {
  io::Document document;
  document.name = name;
  document.text = std::move(text);
  add(std::move(document));
}

void Search::add(io::Document document) {
  if (document.first_byte == 0 || shares_.empty()) shares_.emplace_back();
  queue(static_cast<int64_t>(shares_.size()) - 1, std::move(document));
}

void Search::queue(int64_t key, io::Document document) {
  WaitingDocument waiting{key, std::move(document), {}};
  waiting.prepared = prepare(model_, waiting.document.text, options_.passages);
  const std::string& name = waiting.document.name;
  const auto note = [&](std::vector<std::string>& names, bool applies) {
    if (applies && (names.empty() || names.back() != name)) names.push_back(name);
  };
  note(summary_.unreadable, is_unreadable(model_.tokenizer, waiting.prepared.text.tokens));
  note(summary_.replaced, waiting.document.replaced);
  queue_.add(std::move(waiting));
}

void Search::read(DocumentBatch batch) {
  BatchProgress progress;
  if (options_.progress) {
    progress = [this](const WaitingDocument& waiting, double share) { report(waiting, share); };
  }
  const std::vector<Scores> scores = score(batch, batch_hooks(batch, progress, options_.cancelled));
  for (size_t i = 0; i < batch.size(); ++i) {
    const io::Document& document = batch[i].document;
    keep(batch[i], scores[i]);
    summary_.tokens += static_cast<int64_t>(batch[i].prepared.text.tokens.size());
    if (!document.last) continue;
    ++summary_.documents;
    if (scores[i].windows > 1 || document.first_byte > 0) ++summary_.windowed;
  }
}

void Search::report(const WaitingDocument& waiting, double share) {
  const Share& place = shares_[static_cast<size_t>(waiting.key)];
  const double tokens = static_cast<double>(waiting.prepared.text.tokens.size());
  options_.progress({place.before + share * place.own,
                     summary_.tokens + static_cast<int64_t>(share * tokens), summary_.documents});
}

std::vector<Search::Scores> Search::score(DocumentBatch batch, const Hooks& hooks) {
  std::vector<Scores> scores(batch.size());
  for_each_reading(options_.context, hooks, [&](Reading reading, const Hooks& part) {
    if (options_.context != Context::kBoth || reading == Reading::kAlone) {
      return score(batch, reading, part, scores);
    }
    std::vector<Scores> inside(batch.size());
    score(batch, reading, part, inside);
    for (size_t i = 0; i < batch.size(); ++i) {
      average(inside[i].passages, scores[i].passages);
      average(inside[i].sentences, scores[i].sentences);
    }
    scores = std::move(inside);
  });
  return scores;
}

void Search::score(DocumentBatch batch, Reading reading, const Hooks& hooks,
                   std::vector<Scores>& scores) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const Segmentation& segmentation = batch[i].prepared.segmentation;
    scores[i].passages.assign(segmentation.passages.size(), kUnread);
    scores[i].sentences.assign(segmentation.sentences.size(), kUnread);
  }
  const size_t size = query_.values.size();
  const PassageReading wanted{reading, /*sentences=*/true};
  passage_vectors(
      model_, prepared_documents(batch), wanted, hooks, [&](const PassageVectors& vectors) {
        const auto document = static_cast<size_t>(vectors.document);
        const Segmentation& segmentation = batch[document].prepared.segmentation;
        Scores& to = scores[document];
        const Passage& passage = segmentation.passages[static_cast<size_t>(vectors.passage)];
        to.passages[static_cast<size_t>(vectors.passage)] = cosine(vectors.values, query_.values);
        for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
          if (segmentation.sentences[static_cast<size_t>(i)].tokens() == 0) continue;
          const auto at = static_cast<size_t>(i - passage.sentence_begin) * size;
          to.sentences[static_cast<size_t>(i)] =
              cosine(vectors.sentences.subspan(at, size), query_.values);
        }
        to.windows = std::max(to.windows, vectors.windows);
      });
}

void Search::keep(const WaitingDocument& waiting, const Scores& scores) {
  const io::Document& document = waiting.document;
  if (files_.empty() || files_.back().key != waiting.key) {
    files_.push_back({waiting.key, document.name,
                      std::string(io::document_kind_name(document.kind)),
                      static_cast<int64_t>(hits_.size()), 0});
  }
  const Segmentation& segmentation = waiting.prepared.segmentation;
  for (size_t i = 0; i < segmentation.passages.size(); ++i) {
    if (scores.passages[i] == kUnread) continue;
    const Passage& passage = segmentation.passages[i];
    const auto first = scores.sentences.begin() + passage.sentence_begin;
    const auto best = std::max_element(first, scores.sentences.begin() + passage.sentence_end);
    const ByteRange sentence =
        segmentation.sentences[static_cast<size_t>(best - scores.sentences.begin())].bytes;
    hits_.push_back({scores.passages[i],
                     {sentence.begin - passage.bytes.begin, sentence.end - passage.bytes.begin}});
    collection_.add_passage(static_cast<int64_t>(hits_.size()), keep_passage(document, passage));
    ++files_.back().hits;
  }
  summary_.passages += static_cast<int64_t>(segmentation.passages.size());
}

const SearchSummary& Search::summary() {
  queue_.flush();
  return summary_;
}

std::vector<SearchResult> Search::results() {
  queue_.flush();
  std::vector<size_t> order(files_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return files_[a].name < files_[b].name; });
  std::vector<PassageRun> runs;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const File& file = files_[order[rank]];
    runs.push_back({file.first + 1, file.first, file.hits, static_cast<int64_t>(rank)});
  }
  std::vector<double> cosines;
  cosines.reserve(hits_.size());
  for (const Hit& hit : hits_) cosines.push_back(hit.cosine);
  const FusionOptions options{options_.words_weight, options_.top, options_.min_score,
                              static_cast<int64_t>(hits_.size())};
  std::vector<SearchResult> results;
  for (const FusedPassage& fused : fuse(collection_, std::move(runs), cosines, terms_, options)) {
    SearchResult result = shown_passage(collection_.passage(fused.passage));
    const File& file = files_[order[static_cast<size_t>(fused.file)]];
    result.score = fused.score;
    result.cosine = fused.cosine;
    result.words = fused.words;
    result.verbatim = fused.verbatim;
    result.file = file.name;
    result.kind = file.kind;
    set_best_sentence(result, hits_[static_cast<size_t>(fused.position)].sentence);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace longformer::tasks
