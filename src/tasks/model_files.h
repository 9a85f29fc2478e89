// What a directory must hold to turn text into vectors: an encoder, its tokenizer, and the modules
// and prompts that go with them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/encoder.h"
#include "tasks/sentence_modules.h"
#include "tasks/vector_head.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

// Names under which SentencePiece models are published, in the order in which they are looked for.
inline constexpr std::array<const char*, 5> kSentencePieceNames = {
    "sentencepiece.bpe.model", "spiece.model", "spm.model", "sentencepiece.model",
    "tokenizer.model"};

// The tokenizer files of `directory`. Throws kNotFound naming them when there is none. Lengths that
// they carry (model_max_length, max_seq_length, truncation, padding) have no effect: a model reads
// up to its position table.
text::Tokenizer load_tokenizer(const std::filesystem::path& directory);

// Throws kInvalidFile when the tokenizer has an id that the embedding table lacks.
void check_vocabulary(const text::Tokenizer& tokenizer, const EncoderInfo& info,
                      const std::filesystem::path& directory);

// Share of a text's tokens from which on it counts as written in a script or language that the
// model cannot read.
inline constexpr double kUnreadableShare = 0.2;
bool is_unreadable(const text::Tokenizer& tokenizer, const text::Encoding& tokens);

struct TextModelOptions {
  LoadOptions load;
  std::optional<Pooling> pooling;
  // As resolve_prompt() takes them; nothing: what the model's files say.
  std::optional<std::string> query_prompt;
  std::optional<std::string> document_prompt;
};

struct TextModel {
  Encoder encoder;
  text::Tokenizer tokenizer;
  SentenceModules modules;
  VectorHead head;
  std::vector<int64_t> prefix;  // special tokens before and after a text
  std::vector<int64_t> suffix;
  std::string query_prompt;
  std::string document_prompt;
  int64_t prompt_tokens = 0;  // of the longer of the two

  // Numbers of a token state, and of the vector of a text.
  int64_t hidden_size() const { return encoder.info().hidden_size; }
  int64_t dimension() const { return head.output_size(); }
  bool normalized() const { return head.normalizes(); }
  // Some mode takes the first or last state, which a passage inside a document lacks.
  bool takes_one_state() const;
  // Tokens of text that one pass reads, special tokens and prompt not counted.
  int64_t capacity() const;
  // Furthest token on one side that a token attends to; the whole capacity for full attention.
  int64_t reach() const;
  const std::string& prompt(TextRole role) const {
    return role == TextRole::kQuery ? query_prompt : document_prompt;
  }
};

// A text as the encoder reads it: the tokens of its prompt, then its own. Tokenized in one piece,
// as the reference does; a token that begins in the prompt and ends in the text is the text's.
struct TokenizedText {
  std::vector<int64_t> prompt;
  // Ids and offsets (bytes of the text) without special tokens; the rest is empty.
  text::Encoding tokens;
  // Tokens of the text that a model with include_prompt = false leaves out of the pooling all the
  // same: the reference counts the prompt's tokens by themselves.
  int64_t not_pooled = 0;
};
// Gives their memory back; of a long text they are most of what would be kept.
void drop_offsets(TokenizedText& text);
TokenizedText tokenize(const TextModel& model, std::string_view text, TextRole role);

// Throws what Encoder::load, load_tokenizer, read_sentence_modules and VectorHead::load throw;
// kInvalidFile when the tokenizer has an id that the embedding table lacks, or the files disagree
// about the size of a vector; kInvalidArgument for a prompt that leaves no room for text.
TextModel load_text_model(const std::filesystem::path& directory,
                          const TextModelOptions& options = {});

}  // namespace longformer::tasks
