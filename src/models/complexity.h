// What one document costs, by module, from the configuration alone: multiply-accumulates as four
// conventions count them, and parameters.
//
//   kPtflops   a module hook on each linear layer: rows · in · out, and out once where it has a
//              bias; products of queries, keys and values are invisible to it. MAC
//   kTorch     torch.utils.flop_counter: 2 for each multiply-accumulate of a matrix product, no
//              bias; attention as if every token saw every other. FLOP
//   kExact     matrix products of the model as it is defined: only pairs of query and key that its
//              pattern counts, at the edges of the text too. MAC
//   kExecuted  what our kernels multiply: whole tiles of the pattern, rows rounded up, global rows
//              re-associated (ops/global_attention.h). MAC
//
// Sums, norms, softmax and activations are no matrix products: 0 everywhere. Source of the first
// two rules: the published counters; docs/inspect.md works them through.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/family.h"
#include "models/heads.h"
#include "models/layer_plans.h"

namespace longformer {

enum class Convention { kPtflops, kTorch, kExact, kExecuted };
inline constexpr std::array<Convention, 4> kConventions = {
    Convention::kPtflops, Convention::kTorch, Convention::kExact, Convention::kExecuted};
// "ptflops", "torch", "exact", "executed"
std::string_view convention_name(Convention convention) noexcept;

struct Cost {
  uint64_t parameters = 0;
  std::array<uint64_t, kConventions.size()> counts{};  // by convention
  uint64_t count(Convention convention) const { return counts[static_cast<size_t>(convention)]; }
};

struct ModuleCost {
  std::optional<int64_t> layer;  // none: in front of the layers, or behind them
  // embeddings; query, key, value, query_global, key_global, value_global, scores, context, output,
  // attention_norm, intermediate, output_dense, output_norm; final_norm, pooler; head_dense,
  // head_norm, head_output
  std::string_view name;
  Cost cost;
};

struct ComplexityInput {
  int threads = 1;          // that the executed rows are cut for
  int64_t row_quantum = 1;  // kernels::row_quantum()
};

// The modules of the model in the order of their work. plans: of one sequence, for which the counts
// are. Parameters are those of the reference's class: that of the head, or else the bare model's.
// Throws kInvalidFile where a count does not fit into 64 bits.
std::vector<ModuleCost> module_costs(const EncoderConfig& config,
                                     const std::optional<HeadConfig>& head, const LayerPlans& plans,
                                     const ComplexityInput& input = {});

Cost total_cost(std::span<const ModuleCost> modules);
// Projections, scores and context of a layer: what the reference calls self-attention.
Cost self_attention_cost(std::span<const ModuleCost> modules, int64_t layer);
// Scores and context of all layers.
Cost attention_products_cost(std::span<const ModuleCost> modules);

// How far one token of a layer's output has seen, on each side and in tokens of the text.
struct ReceptiveField {
  bool everything = false;  // a layer up to here has no window
  int64_t left = 0;         // as far as windows reach, whatever the text's length
  int64_t right = 0;
  int64_t tokens = 0;  // of a text of this length, at most: both sides and itself
};
// One a layer. Global tokens, through which all tokens see all from the second layer on, are left
// out of account.
std::vector<ReceptiveField> receptive_fields(const EncoderConfig& config, int64_t length,
                                             int64_t globals = 0);

}  // namespace longformer
