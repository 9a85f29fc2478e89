// Token states of a document: the whole of it in windows, or each passage by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tasks/model_files.h"
#include "tasks/passages.h"
#include "tasks/windows.h"

namespace longformer::tasks {

// Tokens that one call of the encoder gets at least, where there are as many: enough to keep every
// thread busy. Results do not depend on it.
inline constexpr int64_t kBatchTokens = 4096;

struct Hooks {
  std::function<void(int64_t done, int64_t total)> progress;  // tokens of the encoder's work
  std::function<bool()> cancelled;                            // true: stop with kCancelled
};

// What one window gives; all [tokens, hidden_size].
struct WindowStates {
  Window window;
  int64_t index = 0;
  int64_t count = 0;              // windows of the document
  std::span<const float> prefix;  // special tokens before the text
  std::span<const float> prompt;  // tokens of the prompt, which every window repeats
  std::span<const float> kept;    // the tokens [window.keep_begin, window.keep_end)
  std::span<const float> suffix;
};

// Reads the whole document and visits its windows in order, so that the kept tokens come in order,
// each once. Returns the number of windows. A document without tokens is one window of special
// tokens, or none where the model adds no special tokens. Memory does not grow with the document.
int64_t read_windows(TextModel& model, const TokenizedText& text, const Hooks& hooks,
                     const std::function<void(const WindowStates&)>& visit);

// What one passage gives.
struct PassageStates {
  int64_t passage = 0;
  std::span<const float> prefix;  // special tokens
  std::span<const float> prompt;
  std::span<const float> own;
  std::span<const float> suffix;
};

// Reads each passage as a text of its own, behind the prompt, and visits them in order; those
// without tokens are left out. `text` is the document. Throws kInvalidArgument when a passage is
// longer than the model reads.
void read_passages(TextModel& model, const TokenizedText& text, std::span<const Passage> passages,
                   const Hooks& hooks, const std::function<void(const PassageStates&)>& visit);

}  // namespace longformer::tasks
