#include "tasks/states.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace longformer::tasks {
namespace {

// Tokens that stand around the text in each sequence.
int64_t frame_tokens(const TextModel& model, const TokenizedText& text) {
  return static_cast<int64_t>(model.prefix.size() + text.prompt.size() + model.suffix.size());
}

// Tokens of `text` that one sequence has room for.
int64_t capacity_for(const TextModel& model, const TokenizedText& text) {
  const int64_t capacity = model.encoder.info().max_tokens - frame_tokens(model, text);
  if (capacity >= 1) return capacity;
  throw Error(ErrorCode::kInvalidArgument, "leaves the model no room for text; use a shorter one",
              "prompt");
}

// Rows [begin, end) of the batch.
struct PartRows {
  StateRun::Part part = StateRun::Part::kOwn;
  int64_t begin = 0;
  int64_t end = 0;
};

// A sequence in its place in the batch.
struct Member {
  const Sequence* sequence = nullptr;
  const TokenizedText* text = nullptr;
  std::array<PartRows, 4> parts;

  int64_t last_row() const {
    int64_t end = 0;
    for (const PartRows& rows : parts) end = rows.begin < rows.end ? rows.end : end;
    return end;
  }
};

// Sequences run together through the encoder.
class Batch {
 public:
  Batch(TextModel& model, WantedStates wanted, const Hooks& hooks, int64_t total,
        const StateVisitor& visit)
      : model_(model), wanted_(wanted), hooks_(hooks), total_(total), visit_(visit) {}

  bool empty() const { return members_.empty(); }
  int64_t tokens() const { return static_cast<int64_t>(input_.input_ids.size()); }

  // Both are referred to until run().
  void add(const Sequence& sequence, const TokenizedText& text) {
    const int64_t first = tokens();
    const Window& window = sequence.window;
    // Exactly what a long text takes, instead of growing into twice as much.
    if (empty()) {
      const int64_t all = window.size() + frame_tokens(model_, text);
      input_.input_ids.reserve(static_cast<size_t>(std::max(all, kBatchTokens)));
    }
    Member member{&sequence, &text, {}};
    int64_t row = first;
    const auto part = [&](StateRun::Part kind, std::span<const int64_t> ids) {
      input_.input_ids.insert(input_.input_ids.end(), ids.begin(), ids.end());
      member.parts[static_cast<size_t>(kind)] = {kind, row, tokens()};
      row = tokens();
    };
    part(StateRun::Part::kPrefix, model_.prefix);
    part(StateRun::Part::kPrompt, text.prompt);
    part(StateRun::Part::kOwn,
         std::span(text.tokens.ids)
             .subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.size())));
    PartRows& own = member.parts[static_cast<size_t>(StateRun::Part::kOwn)];
    own.end = own.begin + window.keep_end - window.begin;
    own.begin += window.keep_begin - window.begin;
    part(StateRun::Part::kSuffix, model_.suffix);
    input_.lengths.push_back(row - first);
    members_.push_back(member);
  }

  // Runs what was added and forgets it.
  void run() {
    EncodeOptions options;
    options.pooler = false;
    options.cancelled = hooks_.cancelled;
    if (hooks_.progress) {
      options.progress = [this](int64_t layer, int64_t layers) {
        hooks_.progress(done_ + tokens() * layer / layers, total_);
      };
    }
    next_ = 0;
    if (wanted_ == WantedStates::kEdges) {
      options.wanted = edges();
      hand_over(0, model_.encoder.encode(input_, options).last_hidden_state);
    } else {
      options.receive = [this](int64_t first, std::span<const float> states) {
        hand_over(first, states);
      };
      model_.encoder.encode(input_, options);
    }
    done_ += tokens();
    input_ = {};
    members_.clear();
  }

 private:
  std::vector<uint8_t> edges() const {
    std::vector<uint8_t> marks(input_.input_ids.size(), 0);
    for (const Member& member : members_) {
      for (const PartRows& rows : member.parts) {
        if (rows.begin == rows.end) continue;
        const int64_t left_out = rows.part == StateRun::Part::kOwn ? member.text->not_pooled : 0;
        for (const int64_t row : {rows.begin, rows.begin + left_out, rows.end - 1}) {
          marks[static_cast<size_t>(std::min(row, rows.end - 1))] = 1;
        }
      }
    }
    return marks;
  }

  // Rows of the batch from `first` on, which begin where the last ones ended.
  void hand_over(int64_t first, std::span<const float> states) {
    const int64_t hidden = model_.hidden_size();
    const int64_t end = first + static_cast<int64_t>(states.size()) / hidden;
    for (; next_ < members_.size(); ++next_) {
      const Member& member = members_[next_];
      const int64_t last_row = member.last_row();
      for (const PartRows& rows : member.parts) {
        const int64_t from = std::max(first, rows.begin);
        const int64_t to = std::min(end, rows.end);
        if (from >= to) continue;
        StateRun run;
        run.part = rows.part;
        if (rows.part == StateRun::Part::kOwn) {
          run.token = member.sequence->window.keep_begin + from - rows.begin;
        }
        run.states = states.subspan(static_cast<size_t>((from - first) * hidden),
                                    static_cast<size_t>((to - from) * hidden));
        run.last = to == last_row;
        visit_(*member.sequence, run);
      }
      if (last_row > end) return;
    }
  }

  TextModel& model_;
  WantedStates wanted_;
  const Hooks& hooks_;
  int64_t total_;
  const StateVisitor& visit_;
  int64_t done_ = 0;
  EncoderInput input_;
  std::vector<Member> members_;
  size_t next_ = 0;  // member whose rows are still to come
};

// `text_of(i)` is text i of those that the sequences name.
template <typename TextOf>
void read(TextModel& model, const std::vector<Sequence>& sequences, const TextOf& text_of,
          WantedStates wanted, const Hooks& hooks, const StateVisitor& visit) {
  const auto tokens_of = [&](const Sequence& sequence) {
    return sequence.window.size() + frame_tokens(model, text_of(sequence.text));
  };
  int64_t total = 0;
  for (const Sequence& sequence : sequences) total += tokens_of(sequence);
  Batch batch(model, wanted, hooks, total, visit);
  for (const Sequence& sequence : sequences) {
    if (!batch.empty() && batch.tokens() + tokens_of(sequence) > kBatchTokens) batch.run();
    batch.add(sequence, text_of(sequence.text));
  }
  if (!batch.empty()) batch.run();
}

void add_windows(const TextModel& model, const TokenizedText& text, int64_t index,
                 std::vector<Sequence>& sequences) {
  const int64_t tokens = static_cast<int64_t>(text.tokens.ids.size());
  if (tokens == 0 && frame_tokens(model, text) == 0) return;  // nothing to read
  const int64_t capacity = capacity_for(model, text);
  std::vector<Window> windows =
      plan_windows(tokens, capacity, window_overlap(capacity, model.reach()));
  if (windows.empty()) windows.push_back({});
  const int64_t count = static_cast<int64_t>(windows.size());
  for (int64_t i = 0; i < count; ++i) {
    sequences.push_back({index, i, count, windows[static_cast<size_t>(i)]});
  }
}

void add_passages(const TextModel& model, const PreparedDocument& document, int64_t index,
                  std::vector<Sequence>& sequences) {
  const int64_t capacity = capacity_for(model, document.text);
  const std::vector<Passage>& passages = document.segmentation.passages;
  const int64_t count = static_cast<int64_t>(passages.size());
  for (int64_t i = 0; i < count; ++i) {
    const Passage& passage = passages[static_cast<size_t>(i)];
    if (passage.tokens() > capacity) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a passage of " + std::to_string(passage.tokens()) +
                      " tokens is longer than the model reads (" + std::to_string(capacity) +
                      "); ask for shorter passages",
                  "passage tokens");
    }
    if (passage.tokens() == 0) continue;
    const Window all{passage.token_begin, passage.token_end, passage.token_begin,
                     passage.token_end};
    sequences.push_back({index, i, count, all});
  }
}

}  // namespace

void read_windows(TextModel& model, std::span<const TokenizedText* const> texts,
                  WantedStates wanted, const Hooks& hooks, const StateVisitor& visit) {
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < texts.size(); ++i) {
    add_windows(model, *texts[i], static_cast<int64_t>(i), sequences);
  }
  const auto text_of = [&](int64_t i) -> const TokenizedText& {
    return *texts[static_cast<size_t>(i)];
  };
  read(model, sequences, text_of, wanted, hooks, visit);
}

void read_passages(TextModel& model, std::span<const PreparedDocument* const> documents,
                   WantedStates wanted, const Hooks& hooks, const StateVisitor& visit) {
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < documents.size(); ++i) {
    add_passages(model, *documents[i], static_cast<int64_t>(i), sequences);
  }
  const auto text_of = [&](int64_t i) -> const TokenizedText& {
    return documents[static_cast<size_t>(i)]->text;
  };
  read(model, sequences, text_of, wanted, hooks, visit);
}

}  // namespace longformer::tasks
