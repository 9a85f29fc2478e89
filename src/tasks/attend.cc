#include "tasks/attend.h"

#include <algorithm>
#include <memory>

#include "longformer/error.h"
#include "models/memory_need.h"
#include "tasks/attend_links.h"

namespace longformer::tasks {
namespace {

void check_choice(const std::optional<int64_t>& chosen, int64_t count, const char* what) {
  if (!chosen || (*chosen >= 0 && *chosen < count)) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(what) + " " + std::to_string(*chosen) +
                                               " does not exist; this model has " +
                                               std::string(what) + "s 0 to " +
                                               std::to_string(count - 1));
}

// Keys of the widest row.
int64_t widest_row(const EncoderInfo& info, int64_t tokens, int64_t globals) {
  if (info.attention_window.empty()) return tokens;
  int64_t widest = 0;
  for (size_t layer = 0; layer < info.attention_window.size(); ++layer) {
    const int64_t window = info.attention_window[layer];
    const int64_t step =
        layer < info.attention_dilation.size() ? info.attention_dilation[layer] : 1;
    widest = std::max(widest, window == 0 ? tokens : window / 2 * step * 2 + 1 + globals);
  }
  return std::min(widest, tokens);
}

// The mean of the heads of a row, in the order of its keys.
class HeadMean {
 public:
  explicit HeadMean(int64_t tokens) : sums_(static_cast<size_t>(tokens), 0.0f) {}

  void compute(const AttentionRow& row) {
    keys.assign(row.heads[0].keys.begin(), row.heads[0].keys.end());
    weights.assign(row.heads[0].weights.begin(), row.heads[0].weights.end());
    bool shared = true;
    for (const AttentionLinks& links : row.heads) {
      shared = shared && links.keys.data() == row.heads[0].keys.data();
    }
    if (shared) {
      for (size_t h = 1; h < row.heads.size(); ++h) {
        for (size_t i = 0; i < keys.size(); ++i) weights[i] += row.heads[h].weights[i];
      }
    } else {
      merge(row);
    }
    const float heads = static_cast<float>(row.heads.size());
    for (float& weight : weights) weight /= heads;
  }

  std::vector<int32_t> keys;
  std::vector<float> weights;

 private:
  // Heads with windows of their own.
  void merge(const AttentionRow& row) {
    for (const AttentionLinks& links : row.heads) {
      for (size_t i = 0; i < links.keys.size(); ++i) {
        sums_[static_cast<size_t>(links.keys[i])] += links.weights[i];
      }
      const auto own = links.keys.begin() + static_cast<std::ptrdiff_t>(row.global_keys);
      if (&links != &row.heads[0]) keys.insert(keys.end(), own, links.keys.end());
    }
    const auto own = keys.begin() + static_cast<std::ptrdiff_t>(row.global_keys);
    std::sort(own, keys.end());
    keys.erase(std::unique(own, keys.end()), keys.end());
    weights.clear();
    for (const int32_t key : keys) {
      weights.push_back(sums_[static_cast<size_t>(key)]);
      sums_[static_cast<size_t>(key)] = 0;
    }
  }

  std::vector<float> sums_;  // zeros between calls
};

// Collects the views of one text while its layers pass.
class Collection {
 public:
  Collection(const EncoderInfo& info, const std::vector<uint8_t>& special, int64_t globals,
             const AttendOptions& options)
      : info_(info),
        tokens_(static_cast<int64_t>(special.size())),
        options_(options),
        filter_{&special, options.self_links, options.special_links},
        mean_of_heads_(tokens_) {
    if (options.layer) return;
    check_room(static_cast<uint64_t>(tokens_ * widest_row(info, tokens_, globals)) * sizeof(float),
               0, "the mean over the layers of " + std::to_string(tokens_) + " tokens needs",
               "choose one layer, or a shorter text");
    mean_of_layers_ = std::make_unique<RowMean>(tokens_);
  }

  void add(const LayerAttention& layer) {
    if (options_.layer && layer.layer != *options_.layer) return;
    if (options_.layer && !options_.head) return add_heads(layer);
    LinkCollector collector = collector_for(options_.layer.has_value());
    layer.visit([&](const AttentionRow& row) {
      const auto [keys, weights] = chosen(row);
      collector.add(row.row, keys, weights);
      if (mean_of_layers_ == nullptr) return;
      mean_of_layers_->add(row.row, row.global_keys, keys, weights,
                           1.0f / static_cast<float>(info_.layers));
    });
    add_view(layer.layer, options_.head, collector);
  }

  Attended finish() {
    if (mean_of_layers_ != nullptr) {
      LinkCollector collector = collector_for(true);
      mean_of_layers_->finish(
          [&](int64_t row, const std::vector<int32_t>& keys, const std::vector<float>& weights) {
            collector.add(row, keys, weights);
          });
      add_view(std::nullopt, options_.head, collector);
      std::rotate(result_.views.begin(), result_.views.end() - 1, result_.views.end());
    }
    result_.tokens = tokens_;
    result_.top_k = options_.top_k;
    return std::move(result_);
  }

 private:
  LinkCollector collector_for(bool first) const {
    return LinkCollector(tokens_, options_.top_k, first ? options_.strongest : 0, filter_);
  }

  // The head that was asked for, or the mean.
  AttentionLinks chosen(const AttentionRow& row) {
    if (options_.head) return row.heads[static_cast<size_t>(*options_.head)];
    mean_of_heads_.compute(row);
    return {mean_of_heads_.keys, mean_of_heads_.weights};
  }

  // One layer: the mean and each head.
  void add_heads(const LayerAttention& layer) {
    LinkCollector mean = collector_for(true);
    std::vector<LinkCollector> heads(static_cast<size_t>(layer.heads), collector_for(false));
    layer.visit([&](const AttentionRow& row) {
      mean_of_heads_.compute(row);
      mean.add(row.row, mean_of_heads_.keys, mean_of_heads_.weights);
      for (size_t h = 0; h < heads.size(); ++h) {
        heads[h].add(row.row, row.heads[h].keys, row.heads[h].weights);
      }
    });
    add_view(layer.layer, std::nullopt, mean);
    for (size_t h = 0; h < heads.size(); ++h) {
      add_view(layer.layer, static_cast<int64_t>(h), heads[h]);
    }
  }

  void add_view(std::optional<int64_t> layer, std::optional<int64_t> head,
                LinkCollector& collector) {
    AttendView view;
    view.layer = layer;
    view.head = head;
    std::vector<AttendLink> strongest = collector.finish(view);
    if (!strongest.empty()) result_.strongest = std::move(strongest);
    result_.views.push_back(std::move(view));
  }

  const EncoderInfo& info_;
  const int64_t tokens_;
  const AttendOptions& options_;
  const LinkFilter filter_;
  HeadMean mean_of_heads_;
  std::unique_ptr<RowMean> mean_of_layers_;
  Attended result_;
};

}  // namespace

Attended attend(Encoder& encoder, const text::Encoding& tokens, const std::vector<uint8_t>& global,
                const AttendOptions& options) {
  const EncoderInfo& info = encoder.info();
  check_choice(options.layer, info.layers, "layer");
  check_choice(options.head, info.heads, "head");
  if (options.top_k < 1) {
    throw Error(ErrorCode::kInvalidArgument, "top_k is " + std::to_string(options.top_k) +
                                                 "; at least 1 link of a token is kept");
  }
  std::vector<uint8_t> special;
  for (const int8_t sequence : tokens.sequence) special.push_back(sequence < 0 ? 1 : 0);
  Collection collection(info, special, std::count(global.begin(), global.end(), uint8_t{1}),
                        options);
  EncoderInput input;
  input.lengths = {static_cast<int64_t>(tokens.size())};
  input.input_ids = tokens.ids;
  input.token_type_ids = tokens.type_ids;
  input.global_attention_mask = global;
  EncodeOptions encode;
  encode.pooler = false;
  encode.progress = options.progress;
  encode.cancelled = options.cancelled;
  encode.attentions = [&](const LayerAttention& layer) { collection.add(layer); };
  encoder.encode(input, encode);
  return collection.finish();
}

}  // namespace longformer::tasks
