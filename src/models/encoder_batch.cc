#include "models/encoder_batch.h"

#include <algorithm>
#include <string>

#include "base/limits.h"

namespace longformer {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::string at(int64_t sequence, int64_t token) {
  return " (sequence " + std::to_string(sequence) + ", token " + std::to_string(token) + ")";
}

template <typename T>
void check_size(const std::vector<T>& values, int64_t rows, const char* name) {
  if (!values.empty() && static_cast<int64_t>(values.size()) != rows) {
    refuse(std::string(name) + " holds " + std::to_string(values.size()) + " values for " +
           std::to_string(rows) + " tokens; give one a token, or none");
  }
}

void check_range(const std::vector<int64_t>& values, const std::vector<int64_t>& lengths,
                 int64_t limit, const char* name, const char* table) {
  if (values.empty()) return;
  int64_t row = 0;
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (int64_t t = 0; t < lengths[s]; ++t, ++row) {
      if (values[row] < 0 || values[row] >= limit) {
        refuse(std::string(name) + " " + std::to_string(values[row]) +
               at(static_cast<int64_t>(s), t) + " is outside " + table + ": 0 to " +
               std::to_string(limit - 1));
      }
    }
  }
}

// Positions of one sequence by the family's rule.
void assign_positions(const EncoderConfig& config, const int64_t* ids, int64_t length,
                      int64_t sequence, int64_t* positions) {
  int64_t real = 0;
  for (int64_t t = 0; t < length; ++t) {
    if (config.positions == PositionRule::kSequential) {
      positions[t] = t;
      ++real;
    } else if (ids[t] == config.pad_token_id) {
      positions[t] = config.pad_token_id;
    } else {
      positions[t] = config.pad_token_id + ++real;
    }
  }
  if (real > config.max_tokens()) {
    refuse("sequence " + std::to_string(sequence) + " has " + std::to_string(real) +
           " tokens; this model reads at most " + std::to_string(config.max_tokens()) +
           ": shorten it, read it in windows, load the model with more max_tokens, or use a longer "
           "model");
  }
}

}  // namespace

EncoderBatch prepare_batch(const EncoderConfig& config, const EncoderInput& input) {
  EncoderBatch batch;
  for (size_t s = 0; s < input.lengths.size(); ++s) {
    const int64_t length = input.lengths[s];
    if (length < 1 || length > kMaxSequence) {
      refuse("sequence " + std::to_string(s) + " has length " + std::to_string(length) +
             "; allowed is 1 to " + std::to_string(kMaxSequence));
    }
    batch.first_rows.push_back(batch.rows);
    batch.rows += length;
  }
  if (static_cast<int64_t>(input.input_ids.size()) != batch.rows) {
    refuse("input_ids holds " + std::to_string(input.input_ids.size()) +
           " ids; the lengths add up to " + std::to_string(batch.rows));
  }
  check_size(input.attention_mask, batch.rows, "attention_mask");
  check_size(input.global_attention_mask, batch.rows, "global_attention_mask");
  check_size(input.token_type_ids, batch.rows, "token_type_ids");
  check_size(input.position_ids, batch.rows, "position_ids");
  check_range(input.input_ids, input.lengths, config.vocab_size, "id", "the vocabulary");
  // A model without token types takes the one that every token has by default.
  check_range(input.token_type_ids, input.lengths, std::max<int64_t>(config.type_vocab_size, 1),
              "token type",
              config.type_vocab_size > 0 ? "the type table" : "what a model without types takes");
  check_range(
      input.position_ids, input.lengths, config.position_limit(), "position",
      config.position_kind == PositionKind::kTable ? "the position table" : "the rotary positions");
  if (!config.global_attention) {
    for (const uint8_t global : input.global_attention_mask) {
      if (global != 0)
        refuse("global_attention_mask: a " + config.model_type + " model has no global attention");
    }
  }
  batch.types = input.token_type_ids;
  if (batch.types.empty()) batch.types.assign(static_cast<size_t>(batch.rows), 0);
  batch.positions = input.position_ids;
  if (batch.positions.empty()) {
    batch.positions.resize(static_cast<size_t>(batch.rows));
    for (size_t s = 0; s < input.lengths.size(); ++s) {
      const int64_t first = batch.first_rows[s];
      assign_positions(config, input.input_ids.data() + first, input.lengths[s],
                       static_cast<int64_t>(s), batch.positions.data() + first);
    }
  }
  return batch;
}

AttentionPattern attention_pattern(const EncoderConfig& config, const EncoderInput& input) {
  AttentionPattern pattern;
  pattern.heads = config.heads;
  pattern.lengths = input.lengths;
  pattern.masked_query = config.masked_query;
  int64_t row = 0;
  for (const int64_t length : input.lengths) {
    std::vector<Interval> valid;
    std::vector<int64_t> global;
    for (int64_t t = 0; t < length; ++t, ++row) {
      const bool real = input.attention_mask.empty() || input.attention_mask[row] != 0;
      if (real && !valid.empty() && valid.back().end == t) {
        valid.back().end = t + 1;
      } else if (real) {
        valid.push_back({t, t + 1});
      }
      if (!input.global_attention_mask.empty() && input.global_attention_mask[row] != 0)
        global.push_back(t);
    }
    if (!input.attention_mask.empty()) pattern.valid.push_back(std::move(valid));
    if (!input.global_attention_mask.empty()) pattern.global.push_back(std::move(global));
  }
  return pattern;
}

void set_layer(const EncoderConfig& config, int64_t layer, AttentionPattern& pattern) {
  const int64_t window = config.window_of(layer);
  const int64_t dilation = config.dilation_of(layer);
  pattern.window.reset();
  if (window != 0 || config.causal) {
    const int64_t reach = window != 0 ? window / 2 : kMaxSequence;
    pattern.window = Window{reach, config.causal ? 0 : reach};
  }
  pattern.dilation.clear();
  if (dilation != 1) pattern.dilation.assign(static_cast<size_t>(config.heads), dilation);
}

}  // namespace longformer
