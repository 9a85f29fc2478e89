// Where the rows of a batch look in one layer, beside the layer and without touching it: queries
// and keys once more from the layer's input, then the probabilities of a few row blocks at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/probabilities.h"
#include "longformer/attention.h"
#include "nn/encoder_layer.h"
#include "ops/operand.h"

namespace longformer {

class ThreadPool;

class AttentionProbe {
 public:
  // x: [rows, hidden], the layer's input; read here, not later.
  AttentionProbe(const EncoderLayer& layer, const LayerContext& context, int64_t head_dim,
                 const float* x, ThreadPool& pool);
  // As LayerAttention::visit.
  void visit(const AttentionVisitor& visitor);

  // About the bytes that a probe takes.
  static uint64_t bytes_for(const EncoderLayer& layer, const AttentionPlan& plan, int64_t head_dim,
                            int threads);

 private:
  // Rows that are computed together.
  struct Block;

  void project(const EncoderLayer& layer, const LayerContext& context, const float* x);
  void project_globals(const AttentionWeights& weights, const float* x);
  void compute(std::vector<Block>& blocks);
  void find_keys(Block& block) const;
  void weigh(Block& block, int64_t head, ProbabilityScratch& scratch) const;
  void weigh_globals(Block& block, int64_t head) const;
  void hand_over(const Block& block, const AttentionVisitor& visitor) const;

  const AttentionPlan& plan_;
  const int64_t head_dim_;
  ThreadPool& pool_;
  Arena arena_;
  QueryPlanes queries_;
  KeyValuePlanes keys_;  // without values
  // Per group: the row of the batch that owns a key row.
  std::vector<std::vector<int32_t>> row_of_key_;
  // Of the global projections: [heads][rows][head_dim], and [heads][global rows][head_dim]. Empty
  // without global rows.
  std::vector<float> global_keys_;
  std::vector<float> global_queries_;
  int64_t global_count_ = 0;
  std::vector<ProbabilityScratch> scratch_;  // one a thread
};

}  // namespace longformer
