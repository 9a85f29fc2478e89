#include "tasks/vectors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace longformer::tasks {
namespace {

// A model with broken weights must not answer "nothing found".
void check_finite(std::span<const float> vector) {
  if (std::all_of(vector.begin(), vector.end(), [](float value) { return std::isfinite(value); }))
    return;
  throw Error(
      ErrorCode::kInvalidFile,
      "the model gives values that are not finite (NaN or infinity): its weights are broken");
}

std::vector<Pooling> inside_pooling(const TextModel& model) {
  std::vector<Pooling> modes = model.modules.pooling;
  for (Pooling& mode : modes) {
    if (takes_one_state(mode)) mode = Pooling::kMean;
  }
  return modes;
}

// Pools and applies the modules behind the pooling. One text at a time: reset() between them.
class HeadedPooler {
 public:
  HeadedPooler(const TextModel& model, std::span<const Pooling> modes)
      : head_(model.head), pooler_(modes, model.hidden_size()), pooled_(pooler_.size()) {}
  Pooler& pooler() { return pooler_; }
  void result(std::span<float> out) {
    pooler_.result(pooled_);
    finish(pooled_, out);
  }
  void finish(std::span<const float> pooled, std::span<float> out) const {
    check_finite(pooled);
    head_.apply(pooled, out);
    check_finite(out);
  }

 private:
  const VectorHead& head_;
  Pooler pooler_;
  std::vector<float> pooled_;
};

// Takes the states of a document's tokens in order and gives the vectors of each passage when its
// last token has come. The tokens of passages are enough; others may come too.
class PassagePooler {
 public:
  struct Wanted {
    bool passages = true;
    bool sentences = true;
  };
  PassagePooler(const TextModel& model, const Segmentation& segmentation, Wanted wanted)
      : segmentation_(segmentation),
        wanted_(wanted),
        hidden_(static_cast<size_t>(model.hidden_size())),
        dimension_(static_cast<size_t>(model.dimension())),
        passage_(model, inside_pooling(model)),
        sentence_(model, inside_pooling(model)),
        values_(wanted.passages ? dimension_ : 0) {}

  // States of tokens [begin, begin + n), behind those of the last call. What is not wanted is empty
  // in the vectors; where only sentences are, passages without tokens are visited too.
  void add(int64_t begin, std::span<const float> states, const PassageVisitor& visit) {
    const int64_t end = begin + static_cast<int64_t>(states.size() / hidden_);
    const auto rows = [&](int64_t from, int64_t to) {
      return states.subspan(static_cast<size_t>(from - begin) * hidden_,
                            static_cast<size_t>(to - from) * hidden_);
    };
    while (next_ < segmentation_.passages.size()) {
      const Passage& passage = segmentation_.passages[next_];
      if (passage.token_begin >= end && passage.tokens() > 0) return;
      while (static_cast<int64_t>(done_) < passage.sentence_end - passage.sentence_begin) {
        const Sentence& sentence =
            segmentation_.sentences[static_cast<size_t>(passage.sentence_begin) + done_];
        const int64_t from = std::max(begin, sentence.token_begin);
        const int64_t to = std::min(end, sentence.token_end);
        if (from < to) pool(rows(from, to));
        if (sentence.token_end > end) return;
        finish_sentence();
      }
      finish_passage(visit);
    }
  }

 private:
  void pool(std::span<const float> states) {
    if (wanted_.sentences) sentence_.pooler().add(states);
    if (wanted_.passages) passage_.pooler().add(states);
    any_ = true;
  }

  void finish_sentence() {
    ++done_;
    if (!wanted_.sentences) return;
    sentences_.resize(sentences_.size() + dimension_);
    sentence_.result(std::span(sentences_).last(dimension_));
    sentence_.pooler().reset();
  }

  void finish_passage(const PassageVisitor& visit) {
    if (any_ || !wanted_.passages) {
      if (wanted_.passages) passage_.result(values_);
      PassageVectors vectors;
      vectors.passage = static_cast<int64_t>(next_);
      vectors.values = values_;
      vectors.sentences = sentences_;
      visit(vectors);
    }
    passage_.pooler().reset();
    sentences_.clear();
    any_ = false;
    done_ = 0;
    ++next_;
  }

  const Segmentation& segmentation_;
  Wanted wanted_;
  size_t hidden_;
  size_t dimension_;
  HeadedPooler passage_;
  HeadedPooler sentence_;
  std::vector<float> values_;
  std::vector<float> sentences_;  // finished sentences of the passage
  size_t next_ = 0;               // passage that is being pooled
  size_t done_ = 0;               // its finished sentences
  bool any_ = false;              // it has tokens
};

// Of a document in several windows, the first or last states of the windows: their mean, weighted
// by the tokens kept of each.
class EdgeStates {
 public:
  explicit EdgeStates(size_t hidden)
      : hidden_(hidden), first_(hidden), last_(hidden), first_sums_(hidden), last_sums_(hidden) {}

  // A run of the window's pooled states that may begin or end them.
  void first(std::span<const float> states) {
    if (has_first_ || states.empty()) return;
    std::copy_n(states.begin(), hidden_, first_.begin());
    has_first_ = true;
  }
  void last(std::span<const float> states) {
    if (states.empty()) return;
    std::copy_n(states.end() - static_cast<std::ptrdiff_t>(hidden_), hidden_, last_.begin());
    has_last_ = true;
  }
  void end_window(int64_t kept) {
    const double weight = static_cast<double>(std::max<int64_t>(1, kept));
    if (has_first_ && has_last_) {
      for (size_t c = 0; c < hidden_; ++c) {
        first_sums_[c] += weight * static_cast<double>(first_[c]);
        last_sums_[c] += weight * static_cast<double>(last_[c]);
      }
      weights_ += weight;
    }
    has_first_ = has_last_ = false;
  }
  // Replaces the parts of `pooled` that modes with one state gave.
  void replace(std::span<const Pooling> modes, std::span<float> pooled) const {
    for (size_t m = 0; m < modes.size(); ++m) {
      if (!takes_one_state(modes[m]) || weights_ == 0) continue;
      const std::vector<double>& sums = modes[m] == Pooling::kCls ? first_sums_ : last_sums_;
      for (size_t c = 0; c < hidden_; ++c) {
        pooled[m * hidden_ + c] = static_cast<float>(sums[c] / weights_);
      }
    }
  }
  void reset() {
    std::fill(first_sums_.begin(), first_sums_.end(), 0.0);
    std::fill(last_sums_.begin(), last_sums_.end(), 0.0);
    weights_ = 0;
  }

 private:
  size_t hidden_;
  std::vector<float> first_;  // of the window in work
  std::vector<float> last_;
  bool has_first_ = false;
  bool has_last_ = false;
  std::vector<double> first_sums_;
  std::vector<double> last_sums_;
  double weights_ = 0;
};

// Takes the states of a text in its windows, in order, and leaves those out that the model does not
// pool. One text at a time.
class TextPooler {
 public:
  explicit TextPooler(const TextModel& model)
      : model_(model),
        headed_(model, model.modules.pooling),
        edges_(static_cast<size_t>(model.hidden_size())),
        pooled_(static_cast<size_t>(headed_.pooler().size())) {}

  void add(const TokenizedText& text, const Sequence& sequence, const StateRun& run) {
    const bool opens = sequence.index == 0;
    const bool closes = sequence.index == sequence.count - 1;
    switch (run.part) {
      case StateRun::Part::kPrefix:
      case StateRun::Part::kPrompt:
        add_start(text, opens, run.states);
        break;
      case StateRun::Part::kOwn:
        add_own(run.states, opens ? text.not_pooled - (run.token - sequence.window.keep_begin) : 0);
        break;
      case StateRun::Part::kSuffix:
        if (closes) headed_.pooler().add(run.states);
        edges_.last(run.states);
        break;
    }
    if (run.last) edges_.end_window(sequence.window.keep_end - sequence.window.keep_begin);
  }

  // The vector of the text that came in so many windows; the next one follows.
  void result(int64_t windows, std::span<float> out) {
    headed_.pooler().result(pooled_);
    if (windows > 1) edges_.replace(model_.modules.pooling, pooled_);
    headed_.finish(pooled_, out);
    headed_.pooler().reset();
    edges_.reset();
  }

 private:
  void add_start(const TokenizedText& text, bool opens, std::span<const float> states) {
    const bool with_prompt = model_.modules.include_prompt || text.prompt.empty();
    if (with_prompt) edges_.first(states);
    if (!opens) return;
    if (with_prompt) {
      headed_.pooler().add(states);
    } else {
      headed_.pooler().skip(static_cast<int64_t>(states.size()) / model_.hidden_size());
    }
  }

  void add_own(std::span<const float> states, int64_t not_pooled) {
    const int64_t hidden = model_.hidden_size();
    const int64_t left_out =
        std::clamp<int64_t>(not_pooled, 0, static_cast<int64_t>(states.size()) / hidden);
    headed_.pooler().skip(left_out);
    states = states.subspan(static_cast<size_t>(left_out * hidden));
    headed_.pooler().add(states);
    edges_.first(states);
    edges_.last(states);
  }

  const TextModel& model_;
  HeadedPooler headed_;
  EdgeStates edges_;
  std::vector<float> pooled_;
};

// What the vectors of texts read; those of their sentences and of passages inside read all.
WantedStates wanted_states(const TextModel& model) {
  const std::vector<Pooling>& modes = model.modules.pooling;
  return std::all_of(modes.begin(), modes.end(), takes_one_state) ? WantedStates::kEdges
                                                                  : WantedStates::kAll;
}

void passages_inside(TextModel& model, std::span<const PreparedDocument* const> documents,
                     bool sentences, const Hooks& hooks, const PassageVisitor& visit) {
  std::vector<const TokenizedText*> texts;
  for (const PreparedDocument* document : documents) texts.push_back(&document->text);
  std::optional<PassagePooler> pooler;
  int64_t document = -1;  // that the pooler is for
  read_windows(model, texts, WantedStates::kAll, hooks,
               [&](const Sequence& sequence, const StateRun& run) {
                 if (run.part != StateRun::Part::kOwn) return;
                 if (document != sequence.text) {
                   document = sequence.text;
                   pooler.emplace(model, documents[static_cast<size_t>(document)]->segmentation,
                                  PassagePooler::Wanted{true, sentences});
                 }
                 pooler->add(run.token, run.states, [&](PassageVectors vectors) {
                   vectors.document = document;
                   vectors.windows = sequence.count;
                   visit(vectors);
                 });
               });
}

void passages_alone(TextModel& model, std::span<const PreparedDocument* const> documents,
                    bool sentences, const Hooks& hooks, const PassageVisitor& visit) {
  TextPooler whole(model);
  std::optional<PassagePooler> inside;
  int64_t document = -1;  // that the pooler is for
  std::vector<float> values(static_cast<size_t>(model.dimension()));
  std::vector<float> sentence_values;
  const WantedStates wanted = sentences ? WantedStates::kAll : wanted_states(model);
  read_passages(model, documents, wanted, hooks, [&](Sequence sequence, const StateRun& run) {
    const PreparedDocument& prepared = *documents[static_cast<size_t>(sequence.text)];
    if (sentences && document != sequence.text) {
      document = sequence.text;
      inside.emplace(model, prepared.segmentation, PassagePooler::Wanted{false, true});
    }
    if (sentences && run.part == StateRun::Part::kOwn) {
      inside->add(run.token, run.states, [&](const PassageVectors& vectors) {
        if (vectors.passage != sequence.index) return;  // one without tokens beside it
        sentence_values.assign(vectors.sentences.begin(), vectors.sentences.end());
      });
    }
    const int64_t passage = sequence.index;
    sequence.index = 0;  // a text of its own, in one window
    sequence.count = 1;
    whole.add(prepared.text, sequence, run);
    if (!run.last) return;
    whole.result(1, values);
    visit({sequence.text, passage, values, sentence_values, 1});
  });
}

}  // namespace

void check_passage_tokens(const TextModel& model, const PassageOptions& options) {
  if (options.passage_tokens >= kMinPassageTokens && options.passage_tokens <= model.capacity())
    return;
  throw Error(ErrorCode::kInvalidArgument,
              "must be from " + std::to_string(kMinPassageTokens) + " to " +
                  std::to_string(model.capacity()) + ", what this model reads at once; got " +
                  std::to_string(options.passage_tokens),
              "passage tokens");
}

PassageOptions passage_options(const TextModel& model, std::optional<int64_t> passage_tokens) {
  PassageOptions options;
  options.passage_tokens = passage_tokens.value_or(std::min(kPassageTokens, model.capacity()));
  options.join_tokens = options.passage_tokens / kJoinShare;
  check_passage_tokens(model, options);
  return options;
}

PreparedDocument prepare(const TextModel& model, std::string_view text,
                         const PassageOptions& options) {
  PreparedDocument document;
  document.text = tokenize(model, text, TextRole::kDocument);
  document.segmentation = segment(text, document.text.tokens.offsets, options);
  drop_offsets(document.text);
  return document;
}

std::vector<DocumentVector> document_vectors(TextModel& model,
                                             std::span<const TokenizedText* const> texts,
                                             const Hooks& hooks) {
  const size_t dimension = static_cast<size_t>(model.dimension());
  std::vector<DocumentVector> vectors(texts.size());
  TextPooler pooler(model);
  // A text that nothing is read of has the vector of no states, and no window.
  for (DocumentVector& vector : vectors) vector = {std::vector<float>(dimension), 0};
  read_windows(model, texts, wanted_states(model), hooks,
               [&](const Sequence& sequence, const StateRun& run) {
                 pooler.add(*texts[static_cast<size_t>(sequence.text)], sequence, run);
                 if (!run.last || sequence.index + 1 < sequence.count) return;
                 DocumentVector& vector = vectors[static_cast<size_t>(sequence.text)];
                 vector.windows = sequence.count;
                 pooler.result(vector.windows, vector.values);
               });
  for (DocumentVector& vector : vectors) {
    if (vector.windows == 0) pooler.result(0, vector.values);
  }
  return vectors;
}

DocumentVector document_vector(TextModel& model, const TokenizedText& text, const Hooks& hooks) {
  const TokenizedText* texts[] = {&text};
  return std::move(document_vectors(model, texts, hooks).front());
}

void passage_vectors(TextModel& model, std::span<const PreparedDocument* const> documents,
                     const PassageReading& reading, const Hooks& hooks,
                     const PassageVisitor& visit) {
  const auto read = reading.reading == Reading::kInDocument ? passages_inside : passages_alone;
  read(model, documents, reading.sentences, hooks, visit);
}

}  // namespace longformer::tasks
