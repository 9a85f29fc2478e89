#include "models/complexity.h"

#include <algorithm>
#include <map>

#include "attention/align.h"
#include "attention/count_pairs.h"
#include "base/checked.h"
#include "ops/global_attention.h"
#include "ops/row_tiles.h"

namespace longformer {
namespace {

constexpr const char* kWhat = "the number of multiply-accumulates";

uint64_t product(std::initializer_list<int64_t> factors) {
  uint64_t result = 1;
  for (const int64_t factor : factors) {
    result = checked_mul(result, static_cast<uint64_t>(factor), kWhat);
  }
  return result;
}

uint64_t plus(uint64_t a, uint64_t b) { return checked_add(a, b, kWhat); }

uint64_t& at(Cost& cost, Convention convention) {
  return cost.counts[static_cast<size_t>(convention)];
}

void add(const Cost& from, Cost& to) {
  to.parameters = plus(to.parameters, from.parameters);
  for (size_t c = 0; c < to.counts.size(); ++c) to.counts[c] = plus(to.counts[c], from.counts[c]);
}

// What a layer's attention multiplies; layers that share a plan share it.
struct AttentionWork {
  int64_t pairs = 0;         // of one head, that the pattern counts
  int64_t computed = 0;      // of one head, in tiles
  int64_t linear_rows = 0;   // of a product over all rows
  int64_t global_rows = 0;   // of the few products of global tokens, one head's or one's over all
  int64_t global_pairs = 0;  // rows of all heads times keys, each a product over all features
};

AttentionWork work_of(const AttentionPlan& plan, const ComplexityInput& input) {
  AttentionWork work;
  work.pairs = count_pairs(plan.pattern, 0, 0);
  work.computed = computed_pairs(plan, 0, input.row_quantum);
  for (const RowTile& tile : make_row_tiles(plan, input.threads)) {
    work.linear_rows += round_up(tile.rows(), input.row_quantum);
  }
  for (const GlobalRows& global : plan.global_rows) {
    int64_t keys = 0;
    for (const Interval& block : global.blocks) {
      keys += round_up(block.end - block.begin, kKeyAlign);
    }
    const auto queries = static_cast<int64_t>(global.rows.size());
    for (int64_t first = 0; first < queries; first += GlobalAttention::kJobQueries) {
      const int64_t count = std::min(GlobalAttention::kJobQueries, queries - first);
      work.global_rows += round_up(count, input.row_quantum);
      work.global_pairs += round_up(plan.pattern.heads * count, input.row_quantum) * keys;
    }
  }
  return work;
}

class ModuleList {
 public:
  ModuleList(const EncoderConfig& config, const LayerPlans& plans, const ComplexityInput& input)
      : config_(config),
        plans_(plans),
        input_(input),
        hidden_(config.hidden_size),
        length_(plans.of(0).pattern.lengths[0]),
        globals_(plans.of(0).pattern.global.empty()
                     ? 0
                     : static_cast<int64_t>(plans.of(0).pattern.global[0].size())) {}

  void add_embeddings() {
    const int64_t rows = config_.names->position_embeddings == nullptr
                             ? config_.vocab_size
                             : config_.vocab_size + config_.position_rows + config_.type_vocab_size;
    Cost cost;
    cost.parameters = plus(product({rows, hidden_}), norm_parameters());
    push("embeddings", cost);
  }

  void add_layer(int64_t layer) {
    layer_ = layer;
    const AttentionWork& work = work_at(layer);
    const bool bias = config_.attention_bias;
    for (const char* name : {"query", "key", "value"}) {
      add_linear(name, hidden_, hidden_, bias, {length_, work.linear_rows});
    }
    if (config_.global_attention) add_global_projections(work);
    add_products("scores", work);
    add_products("context", work);
    add_linear("output", hidden_, hidden_, bias, {length_, work.linear_rows});
    const bool has_norm = layer > 0 || config_.first_norm;
    if (has_norm) add_norm("attention_norm");
    const int64_t gates = config_.feed_forward == FeedForwardKind::kGated ? 2 : 1;
    const int64_t inner = config_.intermediate_size;
    add_linear("intermediate", hidden_, gates * inner, config_.feed_forward_bias,
               {length_, work.linear_rows});
    add_linear("output_dense", inner, hidden_, config_.feed_forward_bias,
               {length_, work.linear_rows});
    add_norm("output_norm");
  }

  void add_end(const std::optional<HeadConfig>& head) {
    layer_.reset();
    if (config_.names->final_norm != nullptr) add_norm("final_norm");
    if (config_.names->pooler != nullptr && (!head || head->pooled)) {
      add_linear("pooler", hidden_, hidden_, true, rows_of(1));
    }
    if (!head) return;
    const Rows rows = rows_of(head->rows == HeadRows::kTokens ? length_ : 1);
    if (!head->dense.empty() && !head->pooled) {
      add_linear("head_dense", hidden_, hidden_, head->dense_bias, rows);
    }
    if (!head->norm.empty()) add_norm("head_norm");
    add_linear("head_output", hidden_, head->info.outputs, head->has_output_bias, rows);
    // A matrix that is the word embedding counts once.
    if (head->tied) modules_.back().cost.parameters -= product({hidden_, head->info.outputs});
  }

  std::vector<ModuleCost> take() { return std::move(modules_); }

 private:
  struct Rows {
    int64_t exact = 0;
    int64_t executed = 0;
  };

  Rows rows_of(int64_t rows) const { return {rows, round_up(rows, input_.row_quantum)}; }

  const AttentionWork& work_at(int64_t layer) {
    const AttentionPlan* plan = &plans_.of(layer);
    const auto [found, fresh] = works_.try_emplace(plan);
    if (fresh) found->second = work_of(*plan, input_);
    return found->second;
  }

  void push(std::string_view name, const Cost& cost) { modules_.push_back({layer_, name, cost}); }

  uint64_t norm_parameters() const {
    return static_cast<uint64_t>(config_.norm_bias ? 2 * hidden_ : hidden_);
  }

  void add_norm(std::string_view name) {
    Cost cost;
    cost.parameters = norm_parameters();
    push(name, cost);
  }

  // Without rows a hook is never called: not even the bias counts.
  void add_linear(std::string_view name, int64_t in, int64_t out, bool bias, const Rows& rows) {
    Cost cost;
    const auto bias_size = bias ? static_cast<uint64_t>(out) : 0;
    cost.parameters = plus(product({in, out}), bias_size);
    at(cost, Convention::kExact) = product({rows.exact, in, out});
    at(cost, Convention::kPtflops) =
        rows.exact == 0 ? 0 : plus(product({rows.exact, in, out}), bias_size);
    at(cost, Convention::kTorch) = product({2, rows.exact, in, out});
    at(cost, Convention::kExecuted) = product({rows.executed, in, out});
    push(name, cost);
  }

  // The reference projects the global tokens' queries, and keys and values of all tokens for them.
  void add_global_projections(const AttentionWork& work) {
    const bool any = globals_ > 0;
    const Rows queries{globals_, work.global_rows};
    const Rows keys{any ? length_ : 0, work.global_rows};
    add_linear("query_global", hidden_, hidden_, config_.attention_bias, queries);
    add_linear("key_global", hidden_, hidden_, config_.attention_bias, keys);
    add_linear("value_global", hidden_, hidden_, config_.attention_bias, keys);
  }

  void add_products(std::string_view name, const AttentionWork& work) {
    Cost cost;
    at(cost, Convention::kTorch) = product({2, length_, length_, hidden_});
    at(cost, Convention::kExact) = product({work.pairs, hidden_});
    at(cost, Convention::kExecuted) =
        plus(product({work.computed, hidden_}), product({work.global_pairs, hidden_}));
    push(name, cost);
  }

  const EncoderConfig& config_;
  const LayerPlans& plans_;
  const ComplexityInput& input_;
  const int64_t hidden_;
  const int64_t length_;
  const int64_t globals_;
  std::optional<int64_t> layer_;
  std::map<const AttentionPlan*, AttentionWork> works_;
  std::vector<ModuleCost> modules_;
};

bool is_attention_product(const ModuleCost& module) {
  return module.name == "scores" || module.name == "context";
}

bool is_self_attention(const ModuleCost& module) {
  constexpr std::array<std::string_view, 6> kProjections = {
      "query", "key", "value", "query_global", "key_global", "value_global"};
  return is_attention_product(module) ||
         std::find(kProjections.begin(), kProjections.end(), module.name) != kProjections.end();
}

template <typename Wanted>
Cost sum(std::span<const ModuleCost> modules, const Wanted& wanted) {
  Cost result;
  for (const ModuleCost& module : modules) {
    if (wanted(module)) add(module.cost, result);
  }
  return result;
}

}  // namespace

std::string_view convention_name(Convention convention) noexcept {
  switch (convention) {
    case Convention::kPtflops:
      return "ptflops";
    case Convention::kTorch:
      return "torch";
    case Convention::kExact:
      return "exact";
    case Convention::kExecuted:
      return "executed";
  }
  return "";
}

std::vector<ModuleCost> module_costs(const EncoderConfig& config,
                                     const std::optional<HeadConfig>& head, const LayerPlans& plans,
                                     const ComplexityInput& input) {
  ModuleList list(config, plans, input);
  list.add_embeddings();
  for (int64_t layer = 0; layer < config.layers; ++layer) list.add_layer(layer);
  list.add_end(head);
  return list.take();
}

Cost total_cost(std::span<const ModuleCost> modules) {
  return sum(modules, [](const ModuleCost&) { return true; });
}

Cost self_attention_cost(std::span<const ModuleCost> modules, int64_t layer) {
  return sum(modules, [layer](const ModuleCost& module) {
    return module.layer == layer && is_self_attention(module);
  });
}

Cost attention_products_cost(std::span<const ModuleCost> modules) {
  return sum(modules, is_attention_product);
}

std::vector<ReceptiveField> receptive_fields(const EncoderConfig& config, int64_t length,
                                             int64_t globals) {
  std::vector<ReceptiveField> fields;
  ReceptiveField field;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const int64_t window = config.window_of(layer);
    // At most 2^20 · 2^20 a layer, of at most 2^10 layers.
    const int64_t reach = window / 2 * config.dilation_of(layer);
    field.everything = field.everything || window == 0;
    field.left += reach;
    field.right += config.causal ? 0 : reach;
    const bool through_globals = globals > 0 && layer > 0;
    field.tokens = field.everything || through_globals
                       ? length
                       : std::min(length, field.left + field.right + 1);
    fields.push_back(field);
  }
  return fields;
}

}  // namespace longformer
