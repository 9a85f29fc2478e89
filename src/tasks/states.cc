#include "tasks/states.h"

#include <string>
#include <utility>
#include <vector>

namespace longformer::tasks {
namespace {

// Sequences of text tokens, wrapped in special tokens and run together.
class Batch {
 public:
  Batch(TextModel& model, const Hooks& hooks, int64_t total)
      : model_(model), hooks_(hooks), total_(total) {}

  bool empty() const { return input_.lengths.empty(); }
  int64_t tokens() const { return static_cast<int64_t>(input_.input_ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(input_.lengths.size()); }

  void add(std::span<const int64_t> ids) {
    std::vector<int64_t>& all = input_.input_ids;
    all.insert(all.end(), model_.prefix.begin(), model_.prefix.end());
    all.insert(all.end(), ids.begin(), ids.end());
    all.insert(all.end(), model_.suffix.begin(), model_.suffix.end());
    input_.lengths.push_back(
        static_cast<int64_t>(model_.prefix.size() + ids.size() + model_.suffix.size()));
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
  const Hooks& hooks_;
  int64_t total_;
  int64_t done_ = 0;
  EncoderInput input_;
};

std::span<const int64_t> slice(std::span<const int64_t> ids, int64_t begin, int64_t end) {
  return ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

}  // namespace

int64_t read_windows(TextModel& model, std::span<const int64_t> ids, const Hooks& hooks,
                     const std::function<void(const WindowStates&)>& visit) {
  if (ids.empty() && model.prefix.empty() && model.suffix.empty()) return 0;  // nothing to read
  const int64_t capacity = model.capacity();
  std::vector<Window> windows = plan_windows(static_cast<int64_t>(ids.size()), capacity,
                                             window_overlap(capacity, model.reach()));
  if (windows.empty()) windows.push_back({});
  const int64_t count = static_cast<int64_t>(windows.size());
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const size_t prefix = model.prefix.size() * hidden;
  const size_t suffix = model.suffix.size() * hidden;
  int64_t total = count * static_cast<int64_t>(model.prefix.size() + model.suffix.size());
  for (const Window& window : windows) total += window.size();

  Batch batch(model, hooks, total);
  int64_t first = 0;
  const auto run = [&] {
    const int64_t sequences = batch.sequences();
    batch.run([&](int64_t i, std::span<const float> states) {
      WindowStates result;
      result.index = first + i;
      result.count = count;
      result.window = windows[static_cast<size_t>(result.index)];
      result.prefix = states.first(prefix);
      result.suffix = states.last(suffix);
      const Window& window = result.window;
      result.kept =
          states.subspan(prefix + static_cast<size_t>(window.keep_begin - window.begin) * hidden,
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

void read_passages(TextModel& model, std::span<const int64_t> ids,
                   std::span<const Passage> passages, const Hooks& hooks,
                   const std::function<void(const PassageStates&)>& visit) {
  const int64_t specials = static_cast<int64_t>(model.prefix.size() + model.suffix.size());
  int64_t total = 0;
  for (const Passage& passage : passages) {
    total += passage.tokens() + specials;
    if (passage.tokens() > model.capacity()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a passage of " + std::to_string(passage.tokens()) +
                      " tokens is longer than the model reads (" +
                      std::to_string(model.capacity()) + "); ask for shorter passages",
                  "passage tokens");
    }
  }
  const size_t hidden = static_cast<size_t>(model.hidden_size());
  const size_t prefix = model.prefix.size() * hidden;
  const size_t suffix = model.suffix.size() * hidden;

  Batch batch(model, hooks, total);
  std::vector<int64_t> members;  // passages of the batch
  const auto run = [&] {
    batch.run([&](int64_t i, std::span<const float> states) {
      visit({members[static_cast<size_t>(i)], states,
             states.subspan(prefix, states.size() - prefix - suffix)});
    });
    members.clear();
  };
  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& passage = passages[i];
    if (passage.tokens() == 0) continue;
    if (!batch.empty() && batch.tokens() + passage.tokens() + specials > kBatchTokens) run();
    members.push_back(static_cast<int64_t>(i));
    batch.add(slice(ids, passage.token_begin, passage.token_end));
  }
  if (!batch.empty()) run();
}

}  // namespace longformer::tasks
