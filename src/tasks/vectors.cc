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

Pooling inside_pooling(Pooling pooling) {
  return pooling == Pooling::kCls ? Pooling::kMean : pooling;
}

// Takes the states of a document's tokens in order and gives the vectors of each passage when its
// last token has come.
class PassagePooler {
 public:
  PassagePooler(const TextModel& model, const Segmentation& segmentation)
      : segmentation_(segmentation),
        hidden_(static_cast<size_t>(model.hidden_size())),
        normalize_(model.pooling.normalize),
        passage_(inside_pooling(model.pooling.pooling), model.hidden_size()),
        sentence_(inside_pooling(model.pooling.pooling), model.hidden_size()),
        values_(hidden_) {}

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
          sentence_.add(rows(from, to));
          passage_.add(rows(from, to));
        }
        if (sentence.token_end > end) return;
        finish_sentence();
      }
      finish_passage(visit);
    }
  }

 private:
  void finish_sentence() {
    sentences_.resize(sentences_.size() + hidden_);
    sentence_.result(std::span(sentences_).last(hidden_));
    sentence_.reset();
    ++done_;
  }

  void finish_passage(const std::function<void(const PassageVectors&)>& visit) {
    if (passage_.count() > 0) {
      passage_.result(values_);
      check_finite(values_);
      if (normalize_) normalize(values_);
      visit({static_cast<int64_t>(next_), values_, sentences_});
    }
    passage_.reset();
    sentences_.clear();
    done_ = 0;
    ++next_;
  }

  const Segmentation& segmentation_;
  size_t hidden_;
  bool normalize_;
  Pooler passage_;
  Pooler sentence_;
  std::vector<float> values_;
  std::vector<float> sentences_;  // finished sentences of the passage
  size_t next_ = 0;               // passage that is being pooled
  size_t done_ = 0;               // its finished sentences
};

// The sentences of one passage from the states of its own tokens.
std::vector<float> sentence_vectors(const TextModel& model, const Segmentation& segmentation,
                                    const Passage& passage, std::span<const float> own) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  Pooler pooler(inside_pooling(model.pooling.pooling), model.hidden_size());
  std::vector<float> vectors(static_cast<size_t>(passage.sentence_end - passage.sentence_begin) *
                             hidden);
  for (int64_t i = passage.sentence_begin; i < passage.sentence_end; ++i) {
    const Sentence& sentence = segmentation.sentences[static_cast<size_t>(i)];
    pooler.reset();
    pooler.add(own.subspan(static_cast<size_t>(sentence.token_begin - passage.token_begin) * hidden,
                           static_cast<size_t>(sentence.tokens()) * hidden));
    pooler.result(std::span(vectors).subspan(
        static_cast<size_t>(i - passage.sentence_begin) * hidden, hidden));
  }
  return vectors;
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
  document.tokens = model.tokenizer.encode(text, {.add_special_tokens = false});
  document.segmentation = segment(text, document.tokens.offsets, options);
  return document;
}

DocumentVector document_vector(TextModel& model, std::span<const int64_t> ids, const Hooks& hooks) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const bool cls = model.pooling.pooling == Pooling::kCls;
  Pooler pooler(model.pooling.pooling, model.hidden_size());
  std::vector<double> first_states(cls ? hidden : 0);
  double weights = 0;
  DocumentVector result;
  result.windows = read_windows(model, ids, hooks, [&](const WindowStates& states) {
    if (cls) {
      const std::span<const float> first = states.prefix.empty() ? states.kept : states.prefix;
      const double weight = static_cast<double>(std::max<size_t>(1, states.kept.size() / hidden));
      for (size_t c = 0; c < hidden && !first.empty(); ++c) {
        first_states[c] += weight * static_cast<double>(first[c]);
      }
      weights += weight;
      return;
    }
    if (states.index == 0) pooler.add(states.prefix);
    pooler.add(states.kept);
    if (states.index == states.count - 1) pooler.add(states.suffix);
  });
  result.values.resize(hidden);
  if (cls) {
    for (size_t c = 0; c < hidden && weights > 0; ++c) {
      result.values[c] = static_cast<float>(first_states[c] / weights);
    }
  } else {
    pooler.result(result.values);
  }
  check_finite(result.values);
  if (model.pooling.normalize) normalize(result.values);
  return result;
}

void passage_vectors(TextModel& model, const PreparedDocument& document, Reading reading,
                     const Hooks& hooks, const std::function<void(const PassageVectors&)>& visit) {
  const Segmentation& segmentation = document.segmentation;
  if (reading == Reading::kInDocument) {
    PassagePooler pooler(model, segmentation);
    read_windows(model, document.tokens.ids, hooks, [&](const WindowStates& states) {
      pooler.add(states.window.keep_begin, states.kept, [&](PassageVectors vectors) {
        vectors.windows = states.count;
        visit(vectors);
      });
    });
    return;
  }
  Pooler pooler(model.pooling.pooling, model.hidden_size());
  std::vector<float> values(static_cast<size_t>(model.hidden_size()));
  read_passages(
      model, document.tokens.ids, segmentation.passages, hooks, [&](const PassageStates& states) {
        pooler.reset();
        pooler.add(states.all);
        pooler.result(values);
        check_finite(values);
        if (model.pooling.normalize) normalize(values);
        const Passage& passage = segmentation.passages[static_cast<size_t>(states.passage)];
        const std::vector<float> sentences =
            sentence_vectors(model, segmentation, passage, states.own);
        visit({states.passage, values, sentences, 1});
      });
}

}  // namespace longformer::tasks
