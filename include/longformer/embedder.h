// Text to vectors: load a model directory with its tokenizer, embed texts of any length and their
// passages.
//
//   auto embedder = longformer::Embedder::load("models/long-minilm");
//   std::vector<float> whole = embedder.embed(text);
//   for (const auto& passage : embedder.embed_passages(text)) …
//
// A text longer than the model reads is read in overlapping windows; nothing is dropped. The
// vectors of a text do not depend on the number of threads or on what was embedded before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/encoder.h"

namespace longformer {

// How the states of many tokens become one vector.
enum class Pooling {
  kMean,            // mean of all states
  kCls,             // the first state
  kMax,             // largest value of each component
  kMeanSqrtLength,  // their sum over the square root of their number
  kWeightedMean,    // mean with weights 1, 2, 3, … from the first state on
  kLastToken,       // the last state
};

struct EmbedderOptions {
  LoadOptions load;
  // Default: what the model's modules.json and pooling module say; without these files, the mean.
  std::optional<Pooling> pooling;
  // What stands before every text: "query" or "document" for the prompt that the model's files name
  // so, the name of another of their prompts, or the prompt itself. Default: the prompt that the
  // files want before a document, if any.
  std::optional<std::string> prompt;
};

struct EmbedOptions {
  std::function<void(int64_t done, int64_t total)> progress;  // in tokens read, from one thread
  std::function<bool()> cancelled;                            // true: stop with Error(kCancelled)
};

struct Embedding {
  std::vector<float> values;  // [dimension()]
  int64_t tokens = 0;         // of the text, special tokens not counted
  int64_t windows = 1;        // the text was read in; more than 1: it is longer than max_tokens()
};

struct PassageEmbedOptions {
  // Tokens of a passage, at most; at least 8, at most max_tokens(). Default 192, or max_tokens()
  // where that is less.
  std::optional<int64_t> passage_tokens;
  // true: a passage pools its own token states out of a reading of the whole text; false: it is
  // read alone.
  bool document_context = true;
  EmbedOptions run;
};

// A group of consecutive sentences of one paragraph.
struct PassageEmbedding {
  std::vector<float> values;  // [dimension()]
  int64_t byte_begin = 0;     // in the text, half-open
  int64_t byte_end = 0;
  int64_t line_begin = 1;  // counted from 1, both inclusive
  int64_t line_end = 1;
  int64_t tokens = 0;
};

class Embedder {
 public:
  // Reads config.json, the weights, the tokenizer and, where they are there, modules.json with its
  // modules and the prompts. Throws Error: kNotFound for what is missing, kInvalidFile for broken
  // or contradicting files, kUnsupported naming a family, module or pooling mode that is not
  // computed.
  static Embedder load(const std::filesystem::path& directory, const EmbedderOptions& options = {});

  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;
  ~Embedder();

  const EncoderInfo& info() const;
  int64_t dimension() const;   // numbers of a vector
  int64_t max_tokens() const;  // tokens of text read at once, special tokens not counted
  const std::vector<Pooling>& pooling() const;  // several: their vectors one after the other
  const std::string& prompt() const;            // stands before every text; may be empty
  bool normalized() const;                      // vectors have length 1

  // Tokens of a text, special tokens included: what one pass would take.
  int64_t count_tokens(std::string_view text) const;

  // UTF-8; broken bytes read as U+FFFD. One call at a time.
  std::vector<float> embed(std::string_view text);
  Embedding embed(std::string_view text, const EmbedOptions& options);
  // In the order of the text; a passage without any token (invisible characters) is left out.
  // Throws kInvalidArgument when passage_tokens is out of range.
  std::vector<PassageEmbedding> embed_passages(std::string_view text,
                                               const PassageEmbedOptions& options = {});

 private:
  struct Impl;
  explicit Embedder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer
