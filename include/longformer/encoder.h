// Load a checkpoint and run its encoder on ragged batches. Nothing is ever padded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "longformer/attention.h"
#include "longformer/error.h"

namespace longformer {

class ThreadPool;

// What the matrix products of a model multiply. Softmax, LayerNorm and residual sums are float32 in
// each; a processor that lacks the arithmetic computes in float32 on weights that are rounded all
// the same (EncoderInfo::computed says so).
enum class Compute {
  kStored,  // kInt8 for a checkpoint that holds int8 weights, else kF32
  kF32,
  kBf16,  // weights, activations, queries, keys and values rounded to bfloat16
  kInt8,  // weights int8 with a scale an output channel, activations uint8 with a scale and zero
          // point a token; attention as under kBf16
};

// What a caller may want to know of a loaded model. Lengths are in tokens.
struct EncoderInfo {
  std::string model_type;  // "longformer", "bert", "roberta", "xlm-roberta", "modernbert"
  std::string
      model_class;  // the reference's class of the bare model: "LongformerModel", "BertModel"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t max_tokens = 0;       // longest sequence that the model reads
  int64_t type_vocab_size = 0;  // 0: no token types
  int64_t pad_token_id = 0;
  // Two-sided width per layer, half of it (rounded down) to each side; 0: the layer attends to
  // everything; empty: all layers do.
  std::vector<int64_t> attention_window;
  std::vector<int64_t> attention_dilation;  // per layer; empty: 1 everywhere
  bool has_pooler = false;
  int64_t parameters = 0;
  Compute compute = Compute::kF32;     // never kStored
  std::string computed;                // what runs: "bf16", "int8 products, bf16 attention", …
  std::vector<std::string> overrides;  // what LoadOptions changed: "attention_window 512 -> 256"
};

// How the names of a checkpoint met the names of the model.
struct NameReport {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // absent by design, e.g. the pooler of an MLM file
  std::vector<std::string> unexpected;  // in the file, not in the model
  std::vector<std::string> converted;   // "old -> new"
};

// How a model reads positions beyond the ones it was trained on. With P positions of the training,
// N of max_tokens and k = 0 … N - 1:
enum class PositionScheme {
  kTrained,  // not at all: longer texts are refused
  kRepeat,   // the rows of the position table start again: row k mod P. Not for rotary positions
  kExtend,  // rows are interpolated, so that the table spans the new length: between the rows below
            // and above k (P - 1) / (N - 1); rotary angles simply go on
};

struct LoadOptions {
  int threads = 0;                   // 0: what the affinity mask and the cgroup quota allow
  std::shared_ptr<ThreadPool> pool;  // share one pool between models; overrides `threads`
  // Instead of the checkpoint's, one value for all layers that have a window (for all layers of a
  // model without any), or one a layer:
  std::vector<int64_t> attention_window;    // two-sided width; 0: full attention in that layer
  std::vector<int64_t> attention_dilation;  // step between the tokens of a window, 1 or more
  // Longest sequence, special tokens included; 0: the checkpoint's. More than that needs
  // `positions`.
  int64_t max_tokens = 0;
  PositionScheme positions = PositionScheme::kTrained;
  Compute compute = Compute::kStored;
  bool check_tensors = false;  // refuse weights that hold NaN or infinity, naming the first
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
  // One a token, 1: its state is read. The last layer then computes little more than these rows,
  // and leaves the others zero. Empty: all.
  std::vector<uint8_t> wanted;
  // Given, last_hidden_state stays empty and runs of rows are handed over in order instead: the
  // first row (of the batch) and [rows, hidden_size]. Not together with hidden_states, wanted or
  // attentions.
  // Where Encoder::streams(), memory then does not grow with the text.
  std::function<void(int64_t first_row, std::span<const float> states)> receive;
  // Given, called in front of each layer with where its tokens look, all of them whatever `wanted`
  // says. Costs about as much again as the layer's attention. Not together with receive.
  std::function<void(const LayerAttention&)> attentions;
  std::function<void(int64_t done, int64_t total)> progress;  // after each layer, from one thread
  std::function<bool()> cancelled;                            // asked between layers
};

struct EncoderOutput {
  std::vector<float> last_hidden_state;  // [tokens, hidden_size]
  std::vector<float> pooler_output;      // [sequences, hidden_size] or empty
  // layers + 1 times [tokens, hidden_size] or empty. Where a norm follows the last layer
  // (ModernBERT), the last entry is in front of it.
  std::vector<std::vector<float>> hidden_states;
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
  // kInvalidArgument also where the batch needs more memory than there is, saying how much of each.
  EncoderOutput encode(const EncoderInput& input, const EncodeOptions& options = {});

  // Whether EncodeOptions::receive runs in constant memory: every layer has a window, no token of
  // the input is global or masked.
  bool streams(const EncoderInput& input) const;

 private:
  struct Impl;
  explicit Encoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer
