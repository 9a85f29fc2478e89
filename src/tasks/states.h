// Token states of texts: the whole of each in windows, or passages by themselves. Texts share calls
// of the encoder, so that many short ones are read as fast as a long one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tasks/model_files.h"
#include "tasks/passages.h"
#include "tasks/windows.h"

namespace longformer::tasks {

// Tokens that one call of the encoder gets, where there are as many: enough to keep every thread
// busy. More only where one sequence has more. Results do not depend on it.
inline constexpr int64_t kBatchTokens = 4096;

struct Hooks {
  std::function<void(int64_t done, int64_t total)> progress;  // tokens of the encoder's work
  std::function<bool()> cancelled;                            // true: stop with kCancelled
};

// A text cut into tokens and passages, which hold all that is needed of the tokens' offsets.
struct PreparedDocument {
  TokenizedText text;
  Segmentation segmentation;
};

// What the encoder reads as one: special tokens, prompt, tokens of the text, special tokens.
struct Sequence {
  int64_t text = 0;   // of those given
  int64_t index = 0;  // window of the text, or passage
  int64_t count = 0;  // windows of the text, or passages with those that are left out
  Window window;      // tokens of the text; all of a passage is kept
};

// States of neighbouring tokens of a sequence. A sequence comes in several: by part, and where it
// is long and the encoder streams, a step of tokens at a time.
struct StateRun {
  enum class Part { kPrefix, kPrompt, kOwn, kSuffix };  // of kOwn only what is kept
  Part part = Part::kOwn;
  int64_t token = 0;              // kOwn: of the text, that the run begins with
  std::span<const float> states;  // [tokens, hidden_size], at least one token
  bool last = false;              // of its sequence
};
using StateVisitor = std::function<void(const Sequence&, const StateRun&)>;

// Which states are read: kEdges is the first and the last of each part (of a text's own tokens also
// the first that is pooled); the last layer does not compute the others, which have any value.
enum class WantedStates { kAll, kEdges };

// Reads whole texts. Texts, their windows and the runs of these come in order, so that the kept
// tokens come in order, each once. A text without tokens is one window of special tokens, or none
// where the model adds no special tokens. Beside the ids, memory does not grow with a text.
void read_windows(TextModel& model, std::span<const TokenizedText* const> texts,
                  WantedStates wanted, const Hooks& hooks, const StateVisitor& visit);

// Reads each passage as a text of its own, behind the prompt, in order; those without tokens are
// left out. Throws kInvalidArgument when a passage is longer than the model reads.
void read_passages(TextModel& model, std::span<const PreparedDocument* const> documents,
                   WantedStates wanted, const Hooks& hooks, const StateVisitor& visit);

}  // namespace longformer::tasks
