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
      collection_(io::Collection::temporary()) {
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
  double total = 0;
  for (const std::string& name : names) {
    weights.push_back(weight_of(name));
    total += weights.back();
  }
  for (size_t i = 0; i < names.size(); ++i) {
    share_document_ = weights[i] / total;
    const size_t files = files_.size();
    std::exception_ptr failure;  // ours, not the file's
    try {
      io::read_document(names[i], options_.read, [&](const io::Document& part) {
        try {
          add(part);
        } catch (...) {
          failure = std::current_exception();
          throw;
        }
      });
    } catch (const Error& error) {
      if (failure) std::rethrow_exception(failure);
      if (files_.size() > files) forget(files_.back());
      summary_.skipped.push_back({names[i], error.what()});
    }
    share_done_ += share_document_;
  }
}

void Search::forget(const File& file) {
  io::CollectionFile gone;
  gone.first_passage = file.first + 1;
  gone.passages = file.hits;
  collection_.remove_file(gone);
  hits_.resize(static_cast<size_t>(file.first));
  summary_.passages -= file.hits;
  files_.pop_back();
}

void Search::add(const std::string& name, std::string_view text) {
  io::Document document;
  document.name = name;
  document.text = text;
  add(document);
}

void Search::add(const io::Document& document) {
  if (document.first_byte == 0 || files_.empty()) {
    files_.push_back({document.name, std::string(io::document_kind_name(document.kind)),
                      static_cast<int64_t>(hits_.size()), 0});
  }
  const PreparedDocument prepared = prepare(model_, document.text, options_.passages);
  const int64_t tokens = static_cast<int64_t>(prepared.text.tokens.size());
  const auto note = [&](std::vector<std::string>& names, bool applies) {
    if (applies && (names.empty() || names.back() != document.name)) names.push_back(document.name);
  };
  note(summary_.unreadable, is_unreadable(model_.tokenizer, prepared.text.tokens));
  note(summary_.replaced, document.replaced);
  Hooks hooks;
  hooks.cancelled = options_.cancelled;
  if (options_.progress) {
    hooks.progress = [&](int64_t done, int64_t total) {
      const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
      options_.progress(
          {share_done_ + share * share_document_,
           summary_.tokens + static_cast<int64_t>(share * static_cast<double>(tokens)),
           summary_.documents});
    };
  }
  int64_t windows = 1;
  const Scores scores = score_context(prepared, hooks, windows);
  keep(document, prepared, scores);
  summary_.tokens += tokens;
  if (!document.last) return;
  ++summary_.documents;
  if (windows > 1 || document.first_byte > 0) ++summary_.windowed;
}

Search::Scores Search::score_context(const PreparedDocument& document, const Hooks& hooks,
                                     int64_t& windows) {
  const bool both = options_.context == Context::kBoth;
  const auto reading_hooks = [&](bool second) {
    Hooks part = hooks;
    if (both && hooks.progress) {
      part.progress = [&hooks, second](int64_t done, int64_t total) {
        hooks.progress(second ? total + done : done, 2 * total);
      };
    }
    return part;
  };
  Scores scores;
  if (options_.context != Context::kDocument) {
    scores = score(document, Reading::kAlone, reading_hooks(false), windows);
  }
  if (options_.context != Context::kPassage) {
    Scores inside = score(document, Reading::kInDocument, reading_hooks(true), windows);
    if (both) {
      average(inside.passages, scores.passages);
      average(inside.sentences, scores.sentences);
    }
    scores = std::move(inside);
  }
  return scores;
}

Search::Scores Search::score(const PreparedDocument& document, Reading reading, const Hooks& hooks,
                             int64_t& windows) {
  const Segmentation& segmentation = document.segmentation;
  Scores scores;
  scores.passages.assign(segmentation.passages.size(), kUnread);
  scores.sentences.assign(segmentation.sentences.size(), kUnread);
  const size_t size = query_.values.size();
  passage_vectors(model_, document, reading, hooks, [&](const PassageVectors& vectors) {
    const Passage& passage = segmentation.passages[static_cast<size_t>(vectors.passage)];
    scores.passages[static_cast<size_t>(vectors.passage)] = cosine(vectors.values, query_.values);
    for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
      if (segmentation.sentences[static_cast<size_t>(i)].tokens() == 0) continue;
      scores.sentences[static_cast<size_t>(i)] = cosine(
          vectors.sentences.subspan(static_cast<size_t>(i - passage.sentence_begin) * size, size),
          query_.values);
    }
    windows = std::max(windows, vectors.windows);
  });
  return scores;
}

void Search::keep(const io::Document& document, const PreparedDocument& prepared,
                  const Scores& scores) {
  const Segmentation& segmentation = prepared.segmentation;
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

std::vector<SearchResult> Search::results() const {
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
