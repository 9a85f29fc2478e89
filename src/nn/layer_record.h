// What the forward pass of a layer keeps for its backward pass. Everything else is computed again:
// scores from logsumexp, the rows behind a norm from those in front of it, the intermediate rows of
// the feed-forward half.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/encoder_layer.h"
#include "tensor/arena.h"

namespace longformer {

// Of one layer in one step; row keys are [rows of the batch].
struct LayerDropout {
  std::vector<uint64_t> attention_keys;  // [sequences]; those of `attention`
  AttentionDropout attention;
  kernels::DropoutRule attention_output;  // of what the attention half adds
  kernels::DropoutRule feed_forward;      // of what the feed-forward half adds
  std::vector<uint64_t> attention_rows;
  std::vector<uint64_t> feed_forward_rows;
};

class LayerRecord {
 public:
  void resize(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim);
  // Bytes that resize() takes.
  static size_t bytes_for(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim);

  const LayerDropout* dropout = nullptr;  // null: none
  QueryPlanes queries;                    // of the whole batch
  KeyValuePlanes planes;
  float* logsumexp = nullptr;       // [heads][queries.plane_rows]
  float* context = nullptr;         // [rows, hidden]: what the attention gives
  float* attention_sums = nullptr;  // [rows, hidden]: x + the attention half, in front of its norm
  float* outer_sums = nullptr;      // the same of the feed-forward half; null in pre-norm layers

  AttendRecord attend_record() const {
    const bool drops = dropout != nullptr && dropout->attention.rule.drops();
    return {drops ? &dropout->attention : nullptr, logsumexp};
  }
  // From row `first` of the batch on.
  ResidualRecord attention_record(int64_t first, int64_t hidden) const {
    ResidualRecord record{{}, nullptr, attention_sums + first * hidden};
    if (dropout == nullptr) return record;
    record.rule = dropout->attention_output;
    record.row_keys = dropout->attention_rows.data() + first;
    return record;
  }
  ResidualRecord feed_forward_record(int64_t first, int64_t hidden) const {
    ResidualRecord record;
    if (outer_sums != nullptr) record.kept = outer_sums + first * hidden;
    if (dropout == nullptr) return record;
    record.rule = dropout->feed_forward;
    record.row_keys = dropout->feed_forward_rows.data() + first;
    return record;
  }

 private:
  Arena arena_;
};

}  // namespace longformer
