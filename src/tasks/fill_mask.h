// What a masked-language model would put in the place of mask tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tasks/task_text.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

struct MaskToken {
  int64_t id = 0;
  std::string text;
};
// What the tokenizer files of `directory` call the mask token; "<mask>" or "[MASK]" where they say
// nothing and the vocabulary has it. Throws kInvalidFile where there is none.
MaskToken mask_token(const std::filesystem::path& directory, const text::Tokenizer& tokenizer);

// The ids of words that are the only ones to be scored, sorted, each once: a word of the
// vocabulary, or else the first token of its spelling (`shortened` then gets the word). Throws
// kInvalidArgument for a word without tokens.
std::vector<int64_t> target_ids(const text::Tokenizer& tokenizer,
                                std::span<const std::string> words,
                                std::vector<std::string>& shortened);

// A piece of a text around masks, special tokens included.
struct MaskWindow {
  text::Encoding tokens;
  std::vector<size_t> masks;    // positions of all mask tokens in it
  std::vector<uint8_t> wanted;  // those answered from here, one a token
};
inline constexpr size_t kMaxMasks = 1000;  // of a text: each answer repeats what stands around
struct MaskedText {
  std::string text;
  std::vector<MaskWindow> windows;  // one where the text fits
  int64_t tokens = 0;               // of the text, without special tokens
  bool partly_read = false;         // longer than the model: only what stands around masks is read
};
// Texts that are longer than the model are read in windows, the first unanswered mask in the
// middle of each. Throws kInvalidArgument for a text without a mask, or with more than kMaxMasks.
MaskedText cut_masks(const TaskTextModel& model, std::string text, const MaskToken& mask);

// Throws kInvalidArgument where `fills` words for each mask of a text would take more than
// kMaxFillBytes: each repeats its window.
void check_fill_bytes(const TaskTextModel& model, const MaskedText& text, size_t fills);

struct MaskFill {
  double score = 0;  // softmax over the vocabulary, targets or not
  int64_t token = 0;
  std::string token_str;
  std::string sequence;  // the window with this token in place; other masks stay
};
struct FilledText {
  std::vector<std::vector<MaskFill>> masks;  // in order; best first, equal ones by id
  int64_t global_tokens = 0;                 // in all windows
};
// Visits the texts in order. `targets`: the only ids that are scored; empty: all.
using FillVisitor = std::function<void(size_t index, const FilledText& result)>;
void fill_masks(TaskTextModel& model, std::span<const MaskedText> texts, size_t count,
                std::span<const int64_t> targets, const TaskRun& run, const FillVisitor& visit);

}  // namespace longformer::tasks
