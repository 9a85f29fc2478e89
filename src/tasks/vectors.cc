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

// The states of one sequence in order, without those that the model leaves out of the pooling.
void pool_start(const TextModel& model, const TokenizedText& text, std::span<const float> prefix,
                std::span<const float> prompt, Pooler& pooler) {
  if (model.modules.include_prompt || text.prompt.empty()) {
    pooler.add(prefix);
    pooler.add(prompt);
  } else {
    pooler.skip(static_cast<int64_t>(model.prefix.size() + text.prompt.size()));
  }
}

// `own` without its first states that are not pooled.
std::span<const float> pool_own(const TextModel& model, int64_t not_pooled,
                                std::span<const float> own, Pooler& pooler) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const size_t left_out = std::min(static_cast<size_t>(not_pooled), own.size() / hidden);
  pooler.skip(static_cast<int64_t>(left_out));
  own = own.subspan(left_out * hidden);
  pooler.add(own);
  return own;
}

// Takes the states of a document's tokens in order and gives the vectors of each passage when its
// last token has come.
class PassagePooler {
 public:
  PassagePooler(const TextModel& model, const Segmentation& segmentation)
      : segmentation_(segmentation),
        hidden_(static_cast<size_t>(model.hidden_size())),
        dimension_(static_cast<size_t>(model.dimension())),
        passage_(model, inside_pooling(model)),
        sentence_(model, inside_pooling(model)),
        values_(dimension_) {}

  // States of tokens [begin, begin + n); each call begins where the last one ended.
  void add(int64_t begin, std::span<const float> states,
           const std::function<void(const PassageVectors&)>& visit) {
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
        if (from < to) {
          sentence_.pooler().add(rows(from, to));
          passage_.pooler().add(rows(from, to));
        }
        if (sentence.token_end > end) return;
        finish_sentence();
      }
      finish_passage(visit);
    }
  }

 private:
  void finish_sentence() {
    sentences_.resize(sentences_.size() + dimension_);
    sentence_.result(std::span(sentences_).last(dimension_));
    sentence_.pooler().reset();
    ++done_;
  }

  void finish_passage(const std::function<void(const PassageVectors&)>& visit) {
    if (passage_.pooler().count() > 0) {
      passage_.result(values_);
      visit({static_cast<int64_t>(next_), values_, sentences_});
    }
    passage_.pooler().reset();
    sentences_.clear();
    done_ = 0;
    ++next_;
  }

  const Segmentation& segmentation_;
  size_t hidden_;
  size_t dimension_;
  HeadedPooler passage_;
  HeadedPooler sentence_;
  std::vector<float> values_;
  std::vector<float> sentences_;  // finished sentences of the passage
  size_t next_ = 0;               // passage that is being pooled
  size_t done_ = 0;               // its finished sentences
};

// The sentences of one passage from the states of its own tokens.
std::vector<float> sentence_vectors(const TextModel& model, const Segmentation& segmentation,
                                    const Passage& passage, std::span<const float> own) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const size_t dimension = static_cast<size_t>(model.dimension());
  HeadedPooler pooler(model, inside_pooling(model));
  std::vector<float> vectors(static_cast<size_t>(passage.sentence_end - passage.sentence_begin) *
                             dimension);
  for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
    const Sentence& sentence = segmentation.sentences[static_cast<size_t>(i)];
    pooler.pooler().reset();
    pooler.pooler().add(
        own.subspan(static_cast<size_t>(sentence.token_begin - passage.token_begin) * hidden,
                    static_cast<size_t>(sentence.tokens()) * hidden));
    pooler.result(std::span(vectors).subspan(
        static_cast<size_t>(i - passage.sentence_begin) * dimension, dimension));
  }
  return vectors;
}

// Of a document in several windows, the first or last states of the windows: their mean, weighted
// by the tokens kept of each.
class EdgeStates {
 public:
  explicit EdgeStates(size_t hidden) : hidden_(hidden), first_(hidden), last_(hidden) {}
  void add(std::span<const float> first, std::span<const float> last, double weight) {
    for (size_t c = 0; c < hidden_ && !first.empty(); ++c) {
      first_[c] += weight * static_cast<double>(first[c]);
      last_[c] += weight * static_cast<double>(last[last.size() - hidden_ + c]);
    }
    weights_ += weight;
  }
  // Replaces the parts of `pooled` that modes with one state gave.
  void replace(std::span<const Pooling> modes, std::span<float> pooled) const {
    for (size_t m = 0; m < modes.size(); ++m) {
      if (!takes_one_state(modes[m]) || weights_ == 0) continue;
      const std::vector<double>& sums = modes[m] == Pooling::kCls ? first_ : last_;
      for (size_t c = 0; c < hidden_; ++c) {
        pooled[m * hidden_ + c] = static_cast<float>(sums[c] / weights_);
      }
    }
  }

 private:
  size_t hidden_;
  std::vector<double> first_;
  std::vector<double> last_;
  double weights_ = 0;
};

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
  return document;
}

DocumentVector document_vector(TextModel& model, const TokenizedText& text, const Hooks& hooks) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  HeadedPooler headed(model, model.modules.pooling);
  Pooler& pooler = headed.pooler();
  EdgeStates edges(hidden);
  const bool with_prompt = model.modules.include_prompt || text.prompt.empty();
  DocumentVector result;
  result.windows = read_windows(model, text, hooks, [&](const WindowStates& states) {
    if (states.index == 0) pool_start(model, text, states.prefix, states.prompt, pooler);
    const std::span<const float> own =
        pool_own(model, states.index == 0 ? text.not_pooled : 0, states.kept, pooler);
    if (states.index == states.count - 1) pooler.add(states.suffix);
    const std::span<const float> start = states.prefix.empty() ? states.prompt : states.prefix;
    const std::span<const float> first = with_prompt && !start.empty() ? start : own;
    const std::span<const float> last = states.suffix.empty() ? own : states.suffix;
    if (first.empty() || last.empty()) return;
    edges.add(first, last, static_cast<double>(std::max<size_t>(1, states.kept.size() / hidden)));
  });
  std::vector<float> pooled(static_cast<size_t>(pooler.size()));
  pooler.result(pooled);
  if (result.windows > 1) edges.replace(model.modules.pooling, pooled);
  result.values.resize(static_cast<size_t>(model.dimension()));
  headed.finish(pooled, result.values);
  return result;
}

void passage_vectors(TextModel& model, const PreparedDocument& document, Reading reading,
                     const Hooks& hooks, const std::function<void(const PassageVectors&)>& visit) {
  const Segmentation& segmentation = document.segmentation;
  if (reading == Reading::kInDocument) {
    PassagePooler pooler(model, segmentation);
    read_windows(model, document.text, hooks, [&](const WindowStates& states) {
      pooler.add(states.window.keep_begin, states.kept, [&](PassageVectors vectors) {
        vectors.windows = states.count;
        visit(vectors);
      });
    });
    return;
  }
  HeadedPooler headed(model, model.modules.pooling);
  std::vector<float> values(static_cast<size_t>(model.dimension()));
  read_passages(
      model, document.text, segmentation.passages, hooks, [&](const PassageStates& states) {
        Pooler& pooler = headed.pooler();
        pooler.reset();
        pool_start(model, document.text, states.prefix, states.prompt, pooler);
        pool_own(model, document.text.not_pooled, states.own, pooler);
        pooler.add(states.suffix);
        headed.result(values);
        const Passage& passage = segmentation.passages[static_cast<size_t>(states.passage)];
        const std::vector<float> sentences =
            sentence_vectors(model, segmentation, passage, states.own);
        visit({states.passage, values, sentences, 1});
      });
}

}  // namespace longformer::tasks
