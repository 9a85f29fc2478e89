#include "tasks/answer.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "longformer/error.h"
#include "tasks/span_decoding.h"
#include "text/unicode/unicode_tables.h"
#include "text/unicode/utf8.h"

namespace longformer::tasks {
namespace {

constexpr int64_t kStride = 128;  // the reference's

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void check_text(std::string_view text, const std::string& what) {
  if (text.empty()) refuse("the " + what + " is empty");
  if (text::utf8::valid_prefix(text) != text.size()) refuse("the " + what + " is not valid UTF-8");
}

// Windows of a text whose question leaves `room` tokens for it.
text::TruncationSettings window_settings(const AnswerOptions& options, int64_t length,
                                         int64_t room) {
  text::TruncationSettings settings;
  settings.max_length = length;
  settings.strategy = text::Truncation::kOnlySecond;
  settings.stride = options.stride.value_or(std::min(kStride, length / 2));
  if (settings.stride < room) return settings;
  if (options.stride) {
    refuse("a stride of " + std::to_string(*options.stride) + " must be below the " +
           std::to_string(room) + " tokens of text that a window of " + std::to_string(length) +
           " has room for beside this question");
  }
  settings.stride = room / 2;
  return settings;
}

// Spans with the same words count as one, in whatever case they stand.
std::string merge_key(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char32_t c = text::utf8::next(text, at);
    const std::u32string_view lower = text::unicode::lowercase(c);
    if (lower.empty()) text::utf8::append(c, key);
    for (const char32_t l : lower) text::utf8::append(l, key);
  }
  return key;
}

// The bytes of a span of a window, grown to the whole words at its ends, as far as the window has
// them.
text::Offset span_bytes(const text::Encoding& tokens, const TokenSpan& span, bool align_to_words) {
  size_t first = span.first;
  size_t last = span.last;
  const auto same = [&](size_t a, size_t b) {
    return tokens.sequence[a] == tokens.sequence[b] && tokens.words[a] == tokens.words[b];
  };
  if (align_to_words) {
    while (first > 0 && same(first, first - 1)) --first;
    while (last + 1 < tokens.size() && same(last, last + 1)) ++last;
  }
  return {tokens.offsets[first].begin, tokens.offsets[last].end};
}

// The answers of one text, window by window.
class AnswerCollector {
 public:
  explicit AnswerCollector(const AnswerOptions& options) : options_(options) {}

  void add(const CutText& text, const text::Encoding& tokens, std::span<const float> logits,
           int64_t global_tokens);
  Answers take(const CutText& text);

 private:
  const AnswerOptions& options_;
  std::vector<Answer> answers_;                     // in the order in which they were found
  std::unordered_map<std::string, size_t> places_;  // of their texts among them
  double null_score_ = 0;
  bool any_window_ = false;
  int64_t global_tokens_ = 0;
};

void AnswerCollector::add(const CutText& text, const text::Encoding& tokens,
                          std::span<const float> logits, int64_t global_tokens) {
  // The text's tokens count, and those that are the template's first, [CLS], wherever they stand.
  const bool has_null = tokens.sequence[0] == -1;
  std::vector<uint8_t> counted(tokens.size());
  std::vector<float> start_logits(tokens.size());
  std::vector<float> end_logits(tokens.size());
  for (size_t t = 0; t < tokens.size(); ++t) {
    counted[t] = tokens.sequence[t] == 1 || (has_null && tokens.ids[t] == tokens.ids[0]) ? 1 : 0;
    start_logits[t] = logits[2 * t];
    end_logits[t] = logits[2 * t + 1];
  }
  std::vector<double> starts = span_probabilities(start_logits, counted);
  std::vector<double> ends = span_probabilities(end_logits, counted);
  const double null_score = starts[0] * ends[0];
  null_score_ = any_window_ ? std::min(null_score_, null_score) : null_score;
  any_window_ = true;
  global_tokens_ += global_tokens;
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens.sequence[t] != 1) starts[t] = ends[t] = 0;
  }
  // As many more as growing to words may make equal.
  const int64_t count = options_.align_to_words ? 2 * options_.top_k + 10 : options_.top_k;
  for (const TokenSpan& span :
       best_spans(starts, ends, options_.max_answer_length, static_cast<size_t>(count))) {
    const text::Offset bytes = span_bytes(tokens, span, options_.align_to_words);
    const std::string_view words =
        std::string_view(text.second)
            .substr(static_cast<size_t>(bytes.begin), static_cast<size_t>(bytes.end - bytes.begin));
    const auto [place, is_new] = places_.try_emplace(merge_key(words), answers_.size());
    if (is_new) answers_.push_back({0, false, bytes, {}});
    answers_[place->second].score += span.score;
  }
}

Answers AnswerCollector::take(const CutText& text) {
  Answers result;
  result.null_score = null_score_;
  result.global_tokens = global_tokens_;
  result.best = std::move(answers_);
  if (options_.impossible || result.best.empty()) {
    result.best.push_back({null_score_, true, {}, {}});
  }
  std::stable_sort(result.best.begin(), result.best.end(), [&](const Answer& a, const Answer& b) {
    return rank_of(a, options_) > rank_of(b, options_);
  });
  if (result.best.size() > static_cast<size_t>(options_.top_k)) {
    result.best.resize(static_cast<size_t>(options_.top_k));
  }
  std::vector<text::Offset> offsets;
  for (const Answer& answer : result.best) offsets.push_back(answer.bytes);
  text::convert_offsets(text.second, text::OffsetUnit::kCodePoint, offsets);
  for (size_t i = 0; i < offsets.size(); ++i) result.best[i].characters = offsets[i];
  return result;
}

}  // namespace

double rank_of(const Answer& answer, const AnswerOptions& options) {
  return answer.none ? answer.score - options.no_answer_threshold : answer.score;
}

CutText cut_question(const TextSpace& space, std::string question, std::string text,
                     const AnswerOptions& options) {
  check_text(question, "question");
  check_text(text, "text");
  const int64_t length = options.max_seq_len > 0 ? options.max_seq_len : space.max_tokens;
  if (length > space.max_tokens) {
    refuse("windows of " + std::to_string(length) + " tokens are asked for, and the model reads " +
           std::to_string(space.max_tokens) + " at most");
  }
  const auto around = static_cast<int64_t>(space.tokenizer.encode_pair(question, "").size());
  if (around >= length) {
    refuse("the question has " + std::to_string(around) +
           " tokens with the special ones and leaves no room for text in a window of " +
           std::to_string(length) + "; shorten it");
  }
  CutText cut;
  const text::TruncationSettings settings = window_settings(options, length, length - around);
  cut.windows = space.tokenizer.encode_windows(question, text::TextInput(text), {}, settings);
  for (const text::Encoding& window : cut.windows) {
    cut.tokens += std::count(window.sequence.begin(), window.sequence.end(), int8_t{1});
  }
  if (cut.tokens == 0) refuse("the text has no tokens");
  cut.tokens -= static_cast<int64_t>(cut.windows.size() - 1) * settings.stride;
  cut.tokens += std::count(cut.windows[0].sequence.begin(), cut.windows[0].sequence.end(), 0);
  cut.first = std::move(question);
  cut.second = std::move(text);
  return cut;
}

void answer(TaskTextModel& model, std::span<const CutText> texts, const AnswerOptions& options,
            const TaskRun& run, const AnswerVisitor& visit) {
  int64_t total = 0;
  for (const CutText& text : texts) total += static_cast<int64_t>(text.windows.size());
  struct Place {
    size_t text = 0;
    size_t window = 0;
  };
  std::vector<Place> places;  // of what waits for the next call
  std::vector<TaskSequence> sequences;
  int64_t waiting_tokens = 0;
  int64_t done = 0;
  std::optional<AnswerCollector> collector(std::in_place, options);
  TaskRun call = run;
  call.progress = nullptr;
  const auto compute = [&] {
    run_sequences(model, sequences, call,
                  [&](size_t index, std::span<const float> logits, int64_t global_tokens) {
                    const Place& place = places[index];
                    const CutText& text = texts[place.text];
                    collector->add(text, text.windows[place.window], logits, global_tokens);
                    if (place.window + 1 < text.windows.size()) return;
                    visit(place.text, collector->take(text));
                    collector.emplace(options);
                  });
    done += static_cast<int64_t>(sequences.size());
    if (run.progress) run.progress(done, total);
    sequences.clear();
    places.clear();
    waiting_tokens = 0;
  };
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t window = 0; window < texts[i].windows.size(); ++window) {
      const auto tokens = static_cast<int64_t>(texts[i].windows[window].size());
      if (!sequences.empty() && waiting_tokens + tokens > run.batch_tokens) compute();
      sequences.push_back(sequence_of(texts[i], window));
      places.push_back({i, window});
      waiting_tokens += tokens;
    }
  }
  if (!sequences.empty()) compute();
}

Answers answer(TaskTextModel& model, std::string question, std::string text,
               const AnswerOptions& options, const TaskRun& run) {
  const CutText cut = cut_question(model, std::move(question), std::move(text), options);
  Answers result;
  answer(model, std::span(&cut, 1), options, run,
         [&](size_t, const Answers& answers) { result = answers; });
  return result;
}

}  // namespace longformer::tasks
