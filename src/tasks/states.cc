#include "tasks/states.h"

#include <string>
#include <utility>
#include <vector>

namespace longformer::tasks {
namespace {

// Sequences of text tokens, wrapped in special tokens and run together.
class Batch {
 public:
  Batch(TextModel& model, std::span<const int64_t> prompt, const Hooks& hooks, int64_t total)
      : model_(model), prompt_(prompt), hooks_(hooks), total_(total) {}

  bool empty() const { return input_.lengths.empty(); }
  int64_t tokens() const { return static_cast<int64_t>(input_.input_ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(input_.lengths.size()); }

  void add(std::span<const int64_t> ids) {
    std::vector<int64_t>& all = input_.input_ids;
    const size_t before = all.size();
    all.insert(all.end(), model_.prefix.begin(), model_.prefix.end());
    all.insert(all.end(), prompt_.begin(), prompt_.end());
    all.insert(all.end(), ids.begin(), ids.end());
    all.insert(all.end(), model_.suffix.begin(), model_.suffix.end());
    input_.lengths.push_back(static_cast<int64_t>(all.size() - before));
  }

  // Runs what was added and forgets it. The states of sequence i go to visit(i, [tokens,
  // hidden_size]).
  void run(const std::function<void(int64_t, std::span<const float>)>& visit) {
    EncodeOptions options;
    options.pooler = false;
    options.cancelled = hooks_.cancelled;
    if (hooks_.progress) {
      options.progress = [this](int64_t layer, int64_t layers) {
        hooks_.progress(done_ + tokens() * layer / layers, total_);
      };
    }
    const EncoderOutput output = model_.encoder.encode(input_, options);
    const size_t hidden = static_cast<size_t>(model_.hidden_size());
    size_t row = 0;
    for (size_t i = 0; i < input_.lengths.size(); ++i) {
      const size_t rows = static_cast<size_t>(input_.lengths[i]);
      visit(static_cast<int64_t>(i),
            std::span<const float>(output.last_hidden_state).subspan(row * hidden, rows * hidden));
      row += rows;
    }
    done_ += tokens();
    input_ = {};
  }

 private:
  TextModel& model_;
  std::span<const int64_t> prompt_;
  const Hooks& hooks_;
  int64_t total_;
  int64_t done_ = 0;
  EncoderInput input_;
};

std::span<const int64_t> slice(std::span<const int64_t> ids, int64_t begin, int64_t end) {
  return ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

// Tokens that stand around the text in each sequence.
int64_t frame_tokens(const TextModel& model, const TokenizedText& text) {
  return static_cast<int64_t>(model.prefix.size() + text.prompt.size() + model.suffix.size());
}

void check_capacity(int64_t capacity) {
  if (capacity >= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "leaves the model no room for text; use a shorter one",
              "prompt");
}

// The states of one sequence, by part.
struct Frame {
  std::span<const float> prefix;
  std::span<const float> prompt;
  std::span<const float> own;
  std::span<const float> suffix;
};

Frame split_frame(const TextModel& model, const TokenizedText& text,
                  std::span<const float> states) {
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const size_t prefix = model.prefix.size() * hidden;
  const size_t prompt = text.prompt.size() * hidden;
  const size_t suffix = model.suffix.size() * hidden;
  return {states.first(prefix), states.subspan(prefix, prompt),
          states.subspan(prefix + prompt, states.size() - prefix - prompt - suffix),
          states.last(suffix)};
}

}  // namespace

int64_t read_windows(TextModel& model, const TokenizedText& text, const Hooks& hooks,
                     const std::function<void(const WindowStates&)>& visit) {
  const std::span<const int64_t> ids = text.tokens.ids;
  const int64_t around = frame_tokens(model, text);
  if (ids.empty() && around == 0) return 0;  // nothing to read
  const int64_t capacity = model.encoder.info().max_tokens - around;
  check_capacity(capacity);
  std::vector<Window> windows = plan_windows(static_cast<int64_t>(ids.size()), capacity,
                                             window_overlap(capacity, model.reach()));
  if (windows.empty()) windows.push_back({});
  const int64_t count = static_cast<int64_t>(windows.size());
  int64_t total = count * around;
  for (const Window& window : windows) total += window.size();

  Batch batch(model, text.prompt, hooks, total);
  int64_t first = 0;
  const auto run = [&] {
    const int64_t sequences = batch.sequences();
    batch.run([&](int64_t i, std::span<const float> states) {
      WindowStates result;
      result.index = first + i;
      result.count = count;
      result.window = windows[static_cast<size_t>(result.index)];
      const Frame frame = split_frame(model, text, states);
      const Window& window = result.window;
      const size_t hidden = static_cast<size_t>(model.hidden_size());
      result.prefix = frame.prefix;
      result.prompt = frame.prompt;
      result.suffix = frame.suffix;
      result.kept =
          frame.own.subspan(static_cast<size_t>(window.keep_begin - window.begin) * hidden,
                            static_cast<size_t>(window.keep_end - window.keep_begin) * hidden);
      visit(result);
    });
    first += sequences;
  };
  for (const Window& window : windows) {
    if (!batch.empty() && batch.tokens() + window.size() > kBatchTokens) run();
    batch.add(slice(ids, window.begin, window.end));
  }
  run();
  return count;
}

void read_passages(TextModel& model, const TokenizedText& text, std::span<const Passage> passages,
                   const Hooks& hooks, const std::function<void(const PassageStates&)>& visit) {
  const int64_t around = frame_tokens(model, text);
  const int64_t capacity = model.encoder.info().max_tokens - around;
  check_capacity(capacity);
  int64_t total = 0;
  for (const Passage& passage : passages) {
    total += passage.tokens() + around;
    if (passage.tokens() > capacity) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a passage of " + std::to_string(passage.tokens()) +
                      " tokens is longer than the model reads (" + std::to_string(capacity) +
                      "); ask for shorter passages",
                  "passage tokens");
    }
  }
  Batch batch(model, text.prompt, hooks, total);
  std::vector<int64_t> members;  // passages of the batch
  const auto run = [&] {
    batch.run([&](int64_t i, std::span<const float> states) {
      const Frame frame = split_frame(model, text, states);
      visit({members[static_cast<size_t>(i)], frame.prefix, frame.prompt, frame.own, frame.suffix});
    });
    members.clear();
  };
  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& passage = passages[i];
    if (passage.tokens() == 0) continue;
    if (!batch.empty() && batch.tokens() + passage.tokens() + around > kBatchTokens) run();
    members.push_back(static_cast<int64_t>(i));
    batch.add(slice(text.tokens.ids, passage.token_begin, passage.token_end));
  }
  if (!batch.empty()) run();
}

}  // namespace longformer::tasks
