// Entities in texts, and a label for each word: a token classifier on texts of any length.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tasks/entities.h"
#include "tasks/scan.h"
#include "tasks/task_text.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

struct TagOptions {
  Aggregation aggregation = Aggregation::kSimple;
  std::optional<LabelScheme> scheme;  // none: detect_scheme()
  // Labels (kNone) or names of entities that are left out.
  std::vector<std::string> ignore_labels = {"O"};
  double threshold = 0;  // entities with a lower score are left out
  // How a text that is longer than the model is read. None: in overlapping windows, each token from
  // the window in whose middle it lies; then entities are looked for in the whole text, so that
  // each comes once, those across a seam too. A number: windows that share this many tokens as the
  // reference's option of that name makes them, entities of each window by themselves, and of those
  // that overlap the longest. Not with kNone.
  std::optional<int64_t> stride;
};

// A text, or words, as tokens.
struct TagInput {
  std::string text;                      // or the words, joined by a space
  text::Encoding tokens;                 // without special tokens; offsets are bytes of `text`
  std::vector<text::Offset> characters;  // the same in code points
  // Of each word in `text`, bytes: those that were given, or those that the tokenizer makes.
  std::vector<ByteRange> words;
  bool split = false;  // words were given
};
TagInput tag_input(const TextSpace& space, std::string text);
// A tokenizer that spells a word by itself otherwise than behind a space, as byte-level ones
// without add_prefix_space do, reads the joined words; others read each word by itself, as the
// reference's is_split_into_words does.
TagInput tag_input(const TextSpace& space, std::span<const std::string> words);

struct TextEntity {
  std::string label;  // under kNone that of the token, else the name of the entity
  double score = 0;
  std::string word;  // as the tokenizer decodes it, which need not be what stands in the text
  text::Offset bytes;
  text::Offset characters;  // code points
  int64_t index = 0;        // of its first token, special tokens in front of the text counted
  int64_t first_word = 0;   // of TagInput::words
  int64_t end_word = 0;     // behind the last
};

struct TaggedText {
  std::vector<TextEntity> entities;
  // One a word of TagInput::words: as the aggregation says, that of its first token under kNone and
  // kSimple; kNoLabel for a word without tokens.
  std::vector<LabelledTokens> words;
  int64_t windows = 1;
  int64_t global_tokens = 0;  // in all windows
};

// Visits the texts in order. Throws kInvalidArgument for a stride together with kNone, or one that
// is not below the tokens of a window; what run_sequences throws.
using TagVisitor = std::function<void(size_t index, const TaggedText& result)>;
void tag(TaskTextModel& model, std::span<const TagInput> inputs, const TagOptions& options,
         const TaskRun& run, const TagVisitor& visit);

// The label of each word as it is written in columns: "O" for words without one and for those of
// entities that the options leave out.
std::vector<std::string> word_labels(const TaggedText& tagged, std::span<const std::string> labels,
                                     const TagOptions& options);

// Sentences that are split into words: a label a word, that of its first token. For data sets.
std::vector<std::vector<std::string>> tag_sentences(
    TaskTextModel& model, std::span<const std::vector<std::string>> sentences, const TaskRun& run);

}  // namespace longformer::tasks
