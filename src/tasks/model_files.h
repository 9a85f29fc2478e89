// What a directory must hold to turn text into vectors: an encoder, its tokenizer and the way its
// states are pooled.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "longformer/encoder.h"
#include "tasks/pooling.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

// What modules.json and the pooling module's config.json say. Without modules.json: the mean, not
// normalised.
struct PoolingSettings {
  Pooling pooling = Pooling::kMean;
  bool normalize = false;  // the model ends with a Normalize module
  bool stated = false;     // the files or the caller say so; otherwise `pooling` is an assumption
  int64_t dimension = 0;   // of the vectors, where the files say it
  std::filesystem::path transformer;  // directory of the encoder and the tokenizer
};

// Throws kUnsupported naming a module or pooling mode that is not computed here (Dense, weighted
// mean, several modes at once, a default prompt), kInvalidFile for broken files. `chosen` wins over
// the pooling module, whatever it says.
PoolingSettings read_pooling(const std::filesystem::path& directory,
                             std::optional<Pooling> chosen = std::nullopt);

// The tokenizer files of `directory`. Throws kNotFound naming them when there is none. Lengths that
// they carry (model_max_length, max_seq_length, truncation, padding) have no effect: a model reads
// up to its position table.
text::Tokenizer load_tokenizer(const std::filesystem::path& directory);

// Share of a text's tokens from which on it counts as written in a script or language that the
// model cannot read.
inline constexpr double kUnreadableShare = 0.2;
bool is_unreadable(const text::Tokenizer& tokenizer, const text::Encoding& tokens);

struct TextModel {
  Encoder encoder;
  text::Tokenizer tokenizer;
  PoolingSettings pooling;
  std::vector<int64_t> prefix;  // special tokens before and after a text
  std::vector<int64_t> suffix;

  int64_t hidden_size() const { return encoder.info().hidden_size; }
  // Tokens of text that one pass reads, special tokens not counted.
  int64_t capacity() const;
  // Furthest token on one side that a token attends to; the whole capacity for full attention.
  int64_t reach() const;
};

// Throws what Encoder::load and load_tokenizer throw; kInvalidFile when the tokenizer has an id
// that the embedding table lacks, or the files disagree about the size of a vector.
TextModel load_text_model(const std::filesystem::path& directory, const LoadOptions& options = {},
                          std::optional<Pooling> pooling = std::nullopt);

}  // namespace longformer::tasks
