// What distinguishes one encoder family from another, as data read from its config.json.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attention/pattern.h"
#include "base/limits.h"
#include "io/config.h"
#include "kernels/rowwise.h"
#include "longformer/encoder.h"
#include "models/names.h"
#include "ops/feed_forward_block.h"

namespace longformer {

enum class PositionKind {
  kTable,   // a row of a table is added to each embedding
  kRotary,  // queries and keys are turned by an angle
};

enum class PositionRule {
  kSequential,    // 0, 1, 2, … whatever the ids (BERT, ModernBERT)
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
  int64_t type_vocab_size = 0;  // 0: the family has no token types
  int64_t pad_token_id = 0;

  float layer_norm_eps = 0;
  kernels::Activation activation = kernels::Activation::kGelu;
  NormPlacement norm_placement = NormPlacement::kPost;
  bool first_norm = true;  // layer 0 of a pre-norm stack normalises what the embeddings give
  FeedForwardKind feed_forward = FeedForwardKind::kPlain;
  bool attention_bias = true;
  bool feed_forward_bias = true;
  bool norm_bias = true;

  PositionKind position_kind = PositionKind::kTable;
  PositionRule positions = PositionRule::kSequential;
  int64_t position_rows = 0;         // of the table; rotary: the longest sequence of the training
  std::vector<double> rotary_theta;  // per layer
  PositionScheme position_scheme = PositionScheme::kTrained;
  int64_t token_limit = 0;  // of the caller, instead of what the model was trained on; 0: none

  MaskedQuery masked_query = MaskedQuery::kAttend;
  // Two-sided width per layer, each side half of it rounded down; 0: the layer attends to
  // everything; empty: all do.
  std::vector<int64_t> attention_window;
  std::vector<int64_t> attention_dilation;  // per layer; empty: 1 everywhere
  bool causal = false;                      // nothing to the right of a token counts
  bool global_attention = false;            // has *_global projections
  bool int8_weights = false;  // the linear layers are stored as models/stored_weights.h says

  const TensorNames* names = &kBertNames;
  std::vector<std::string> name_prefixes;  // of the base model inside task checkpoints

  int64_t head_dim() const { return hidden_size / heads; }
  // Rows of the position table in front of the one that the first token reads.
  int64_t reserved_rows() const {
    return positions == PositionRule::kSequential ? 0 : pad_token_id + 1;
  }
  int64_t trained_tokens() const { return position_rows - reserved_rows(); }
  int64_t max_tokens() const { return token_limit == 0 ? trained_tokens() : token_limit; }
  // Position ids that a caller may give are below this.
  int64_t position_limit() const {
    if (position_kind == PositionKind::kRotary) return 2 * kMaxSequence;
    return std::max(position_rows, reserved_rows() + max_tokens());
  }
  int64_t window_of(int64_t layer) const {
    return attention_window.empty() ? 0 : attention_window[static_cast<size_t>(layer)];
  }
  int64_t dilation_of(int64_t layer) const {
    return attention_dilation.empty() ? 1 : attention_dilation[static_cast<size_t>(layer)];
  }
};

// Reads the family that "model_type" names. Throws kUnsupported naming the known ones, kInvalidFile
// for broken fields.
EncoderConfig read_encoder_config(const io::Config& config);

// One family a file; each fills what its config says and checks it.
EncoderConfig read_bert_config(const io::Config& config);
EncoderConfig read_roberta_config(const io::Config& config);
EncoderConfig read_longformer_config(const io::Config& config);
EncoderConfig read_modernbert_config(const io::Config& config);
// The layout of the first release of Longformer, whose files call themselves RoBERTa.
bool is_original_longformer(const io::Config& config);
EncoderConfig read_original_longformer_config(const io::Config& config);

// The fields that all families share and their defaults in a class of the reference.
struct CommonFields {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t intermediate_size = 3072;
  int64_t position_rows = 512;
  int64_t pad_token_id = 0;
  double layer_norm_eps = 1e-12;
  const char* eps_field = "layer_norm_eps";
  const char* activation_field = "hidden_act";
};
EncoderConfig read_common_fields(const io::Config& config, const CommonFields& defaults);

// The fields of BERT's descendants: token types; refuses decoders and positions that are not
// absolute.
void read_bert_fields(const io::Config& config, EncoderConfig& result);

// Throws where a table of `position_rows` leaves no row behind padding.
void check_positions(const EncoderConfig& result, const std::string& place);

// Checks a two-sided window per layer and spreads a single value: even, positive, at most
// kMaxWindow, one a layer.
std::vector<int64_t> check_windows(std::vector<int64_t> windows, int64_t layers,
                                   const std::string& place);

// One value a layer of the list `field`: as many as layers, or one for all; each from `min` to
// `max`.
std::vector<int64_t> spread_over_layers(std::vector<int64_t> values, const std::string& field,
                                        int64_t layers, int64_t min, int64_t max,
                                        const std::string& place);

}  // namespace longformer
