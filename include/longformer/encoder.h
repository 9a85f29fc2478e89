// Load a checkpoint and run its encoder on ragged batches. Nothing is ever padded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longformer/error.h"

namespace longformer {

class ThreadPool;

// What a caller may want to know of a loaded model. Lengths are in tokens.
struct EncoderInfo {
  std::string model_type;  // "longformer", "bert"
  std::string
      model_class;  // the reference's class of the bare model: "LongformerModel", "BertModel"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t max_tokens = 0;  // longest sequence that the position table can serve
  int64_t type_vocab_size = 0;
  int64_t pad_token_id = 0;
  std::vector<int64_t> attention_window;  // two-sided width per layer; empty: full attention
  bool has_pooler = false;
  int64_t parameters = 0;
};

// How the names of a checkpoint met the names of the model.
struct NameReport {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // absent by design, e.g. the pooler of an MLM file
  std::vector<std::string> unexpected;  // in the file, not in the model
  std::vector<std::string> converted;   // "old -> new"
};

struct LoadOptions {
  int threads = 0;                   // 0: what the affinity mask and the cgroup quota allow
  std::shared_ptr<ThreadPool> pool;  // share one pool between models; overrides `threads`
  // Two-sided window per layer (one value: for all), instead of the checkpoint's. Longformer only.
  std::vector<int64_t> attention_window;
};

// A ragged batch: the sequences of `lengths` one after the other. Each vector below holds one entry
// a token, or is empty for its default.
struct EncoderInput {
  std::vector<int64_t> lengths;
  std::vector<int64_t> input_ids;
  std::vector<uint8_t> attention_mask;         // 1: real, 0: padding; default all 1
  std::vector<uint8_t> global_attention_mask;  // 1: global; default none
  std::vector<int64_t> token_type_ids;         // default 0
  std::vector<int64_t> position_ids;           // default: the model's own rule
};

struct EncodeOptions {
  bool hidden_states = false;  // also keep the embeddings and the output of each layer
  bool pooler = true;          // compute pooler_output where the checkpoint has one
  std::function<void(int64_t done, int64_t total)> progress;  // after each layer, from one thread
  std::function<bool()> cancelled;                            // asked between layers
};

struct EncoderOutput {
  std::vector<float> last_hidden_state;           // [tokens, hidden_size]
  std::vector<float> pooler_output;               // [sequences, hidden_size] or empty
  std::vector<std::vector<float>> hidden_states;  // layers + 1 times [tokens, hidden_size] or empty
};

class Encoder {
 public:
  // Reads config.json and the weights of `directory`.
  // Throws Error when a file is missing or broken, a core tensor is absent, or the architecture is
  // unknown.
  static Encoder load(const std::filesystem::path& directory, const LoadOptions& options = {});

  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

  const EncoderInfo& info() const;
  const NameReport& names() const;
  const std::shared_ptr<ThreadPool>& pool() const;

  // Throws Error for ids outside the vocabulary, types outside the type table, sequences longer
  // than info().max_tokens, vectors whose length is not the number of tokens. Safe to call from one
  // thread at a time.
  EncoderOutput encode(const EncoderInput& input, const EncodeOptions& options = {});

 private:
  struct Impl;
  explicit Encoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer
