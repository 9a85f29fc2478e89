// What distinguishes one encoder family from another, as data read from its config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attention/pattern.h"
#include "io/config.h"
#include "kernels/rowwise.h"

namespace longformer {

enum class PositionRule {
  kSequential,    // 0, 1, 2, … whatever the ids (BERT)
  kAfterPadding,  // pad + running count of ids that are not pad; pads read row `pad` (RoBERTa,
                  // Longformer)
};

struct EncoderConfig {
  std::string model_type;
  std::string model_class;  // the reference's class of the bare model, e.g. "BertModel"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t intermediate_size = 0;
  int64_t position_rows = 0;
  int64_t type_vocab_size = 0;
  int64_t pad_token_id = 0;
  float layer_norm_eps = 0;
  kernels::Activation activation = kernels::Activation::kGelu;
  PositionRule positions = PositionRule::kSequential;
  MaskedQuery masked_query = MaskedQuery::kAttend;
  std::vector<int64_t> attention_window;   // two-sided width per layer; empty: full attention
  bool global_attention = false;           // has *_global projections
  std::vector<std::string> name_prefixes;  // of the base model inside task checkpoints

  int64_t head_dim() const { return hidden_size / heads; }
  int64_t max_tokens() const {
    return positions == PositionRule::kSequential ? position_rows
                                                  : position_rows - pad_token_id - 1;
  }
};

// Reads the family that "model_type" names. Throws kUnsupported naming the known ones, kInvalidFile
// for broken fields.
EncoderConfig read_encoder_config(const io::Config& config);

// One family a file; each fills what its config says and checks it.
EncoderConfig read_bert_config(const io::Config& config);
EncoderConfig read_longformer_config(const io::Config& config);

// The fields that all families share, with the defaults of the reference's config classes.
EncoderConfig read_common_fields(const io::Config& config);

// Checks a two-sided window per layer and spreads a single value: even, positive, at most
// kMaxWindow, one a layer.
std::vector<int64_t> check_windows(std::vector<int64_t> windows, int64_t layers,
                                   const std::string& place);

}  // namespace longformer
