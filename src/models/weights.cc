#include "models/weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/thread_pool.h"
#include "longformer/error.h"
#include "models/check_tensors.h"
#include "models/memory_need.h"
#include "models/stored_weights.h"
#include "models/weight_reader.h"

namespace longformer {
namespace {

std::string layer_prefix(const EncoderConfig& config, int64_t layer) {
  return config.names->layers + std::to_string(layer) + ".";
}

constexpr const char* kGlobal = "_global";

bool has_attention_norm(const EncoderConfig& config, int64_t layer) {
  return layer > 0 || config.first_norm;
}

AttentionWeights read_attention(const WeightReader& reader, const EncoderConfig& config,
                                int64_t index) {
  const TensorNames& names = *config.names;
  const std::string prefix = layer_prefix(config, index);
  AttentionWeights attention;
  if (names.fused != nullptr) {
    auto [query, key, value] = reader.fused(prefix + names.fused);
    attention.query = std::move(query);
    attention.key = std::move(key);
    attention.value = std::move(value);
  } else {
    attention.query = reader.linear(prefix + names.query);
    attention.key = reader.linear(prefix + names.key);
    attention.value = reader.linear(prefix + names.value);
  }
  if (config.global_attention) {
    attention.query_global = reader.global_projection(prefix + names.query + kGlobal);
    attention.key_global = reader.global_projection(prefix + names.key + kGlobal);
    attention.value_global = reader.global_projection(prefix + names.value + kGlobal);
  }
  attention.output = reader.linear(prefix + names.attention_output);
  attention.placement = config.norm_placement;
  if (has_attention_norm(config, index)) {
    attention.norm = reader.norm(prefix + names.attention_norm, config.layer_norm_eps);
  }
  return attention;
}

PositionTable read_positions(const WeightReader& reader, const EncoderConfig& config) {
  using Reading = PositionTable::Reading;
  EmbeddingTable table(reader.tensor(std::string(config.names->position_embeddings) + ".weight"));
  Reading reading = Reading::kAsStored;
  if (config.position_scheme == PositionScheme::kRepeat) reading = Reading::kRepeat;
  if (config.position_scheme == PositionScheme::kExtend) reading = Reading::kInterpolate;
  return PositionTable(std::move(table), reading, config.reserved_rows(), config.max_tokens());
}

// Collects what a config asks for.
class TensorList {
 public:
  explicit TensorList(const EncoderConfig& config) : config_(config) {}

  void add(const std::string& name, Shape shape, const std::string& fallback = {}) {
    tensors_.push_back({name, std::move(shape), false, fallback});
  }

  // The matrix of a linear layer, with its scales where it is stored in int8.
  void add_matrix(const io::ExpectedTensor& matrix) {
    linear_.push_back(matrix.name);
    tensors_.push_back(matrix);
    if (!config_.int8_weights) return;
    const std::string fallback = matrix.fallback.empty() ? "" : scale_name(matrix.fallback);
    tensors_.push_back({scale_name(matrix.name), {matrix.shape[0]}, matrix.optional, fallback});
  }

  void add_linear(const std::string& name, int64_t out, int64_t in, bool bias) {
    add_matrix({name + ".weight", {out, in}, false, {}});
    if (bias) add(name + ".bias", {out});
  }

  // The second matrix of a feed-forward half, which int8 files hold in bf16.
  void add_outer(const std::string& name, int64_t out, int64_t in, bool bias) {
    outer_.push_back(name + ".weight");
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out});
  }

  void add_norm(const std::string& name) {
    add(name + ".weight", {config_.hidden_size});
    if (config_.norm_bias) add(name + ".bias", {config_.hidden_size});
  }

  void add_embeddings() {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    add(std::string(names.word_embeddings) + ".weight", {config_.vocab_size, hidden});
    if (names.position_embeddings != nullptr) {
      add(std::string(names.position_embeddings) + ".weight", {config_.position_rows, hidden});
      add(std::string(names.type_embeddings) + ".weight", {config_.type_vocab_size, hidden});
    }
    add_norm(names.embedding_norm);
  }

  void add_projections(const std::string& prefix) {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    if (names.fused != nullptr) {
      return add_linear(prefix + names.fused, 3 * hidden, hidden, config_.attention_bias);
    }
    for (const char* name : {names.query, names.key, names.value})
      add_linear(prefix + name, hidden, hidden, config_.attention_bias);
    if (!config_.global_attention) return;
    // A file without them is a model before conversion was finished: the local projections serve,
    // and the report says so.
    for (const char* name : {names.query, names.key, names.value}) {
      const std::string local = prefix + name;
      add_matrix({local + kGlobal + ".weight", {hidden, hidden}, false, local + ".weight"});
      add(local + kGlobal + ".bias", {hidden}, local + ".bias");
    }
  }

  void add_layer(int64_t layer) {
    const TensorNames& names = *config_.names;
    const std::string prefix = layer_prefix(config_, layer);
    const int64_t hidden = config_.hidden_size;
    const int64_t inner = config_.intermediate_size;
    add_projections(prefix);
    add_linear(prefix + names.attention_output, hidden, hidden, config_.attention_bias);
    if (has_attention_norm(config_, layer)) add_norm(prefix + names.attention_norm);
    const int64_t gates = config_.feed_forward == FeedForwardKind::kGated ? 2 : 1;
    add_linear(prefix + names.inner, gates * inner, hidden, config_.feed_forward_bias);
    add_outer(prefix + names.outer, hidden, inner, config_.feed_forward_bias);
    add_norm(prefix + names.feed_forward_norm);
  }

  void add_head() {
    const TensorNames& names = *config_.names;
    const int64_t hidden = config_.hidden_size;
    if (names.final_norm != nullptr) add_norm(names.final_norm);
    if (names.pooler == nullptr) return;
    add_matrix({std::string(names.pooler) + ".weight", {hidden, hidden}, true, {}});
    tensors_.push_back({std::string(names.pooler) + ".bias", {hidden}, true, {}});
  }

  void add_all() {
    add_embeddings();
    for (int64_t layer = 0; layer < config_.layers; ++layer) add_layer(layer);
    add_head();
  }

  std::vector<io::ExpectedTensor> take() { return std::move(tensors_); }
  std::vector<std::string> take_linear() { return std::move(linear_); }
  std::vector<std::string> take_outer() { return std::move(outer_); }

 private:
  const EncoderConfig& config_;
  std::vector<io::ExpectedTensor> tensors_;
  std::vector<std::string> linear_;
  std::vector<std::string> outer_;
};

}  // namespace

EncoderLayer read_layer(const WeightReader& reader, const EncoderConfig& config, int64_t index) {
  const TensorNames& names = *config.names;
  const std::string prefix = layer_prefix(config, index);
  EncoderLayer layer;
  layer.attention = read_attention(reader, config, index);
  layer.feed_forward.inner = reader.linear(prefix + names.inner);
  layer.feed_forward.outer = reader.outer(prefix + names.outer);
  layer.feed_forward.norm = reader.norm(prefix + names.feed_forward_norm, config.layer_norm_eps);
  layer.feed_forward.placement = config.norm_placement;
  layer.feed_forward.kind = config.feed_forward;
  layer.feed_forward.activation = config.activation;
  return layer;
}

EmbeddingWeights read_embeddings(const WeightReader& reader, const EncoderConfig& config) {
  const TensorNames& names = *config.names;
  EmbeddingWeights embeddings;
  embeddings.word = EmbeddingTable(reader.tensor(std::string(names.word_embeddings) + ".weight"));
  if (names.position_embeddings != nullptr) {
    embeddings.position = read_positions(reader, config);
    embeddings.type = EmbeddingTable(reader.tensor(std::string(names.type_embeddings) + ".weight"));
  }
  embeddings.norm = reader.norm(names.embedding_norm, config.layer_norm_eps);
  return embeddings;
}

std::vector<io::ExpectedTensor> expected_tensors(const EncoderConfig& config) {
  TensorList list(config);
  list.add_all();
  return list.take();
}

std::vector<std::string> linear_weights(const EncoderConfig& config) {
  TensorList list(config);
  list.add_all();
  return list.take_linear();
}

std::vector<std::string> outer_weights(const EncoderConfig& config) {
  TensorList list(config);
  list.add_all();
  return list.take_outer();
}

bool is_global_projection(const std::string& name) {
  return name.find(std::string(kGlobal) + ".") != std::string::npos;
}

io::Resolution resolve_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config) {
  io::Resolution resolution =
      io::resolve_names(checkpoint, expected_tensors(config), config.name_prefixes);
  if (!config.int8_weights) return resolution;
  std::map<std::string, std::string> sources;
  for (const io::ResolvedTensor& tensor : resolution.tensors) sources[tensor.name] = tensor.source;
  for (const std::string& name : linear_weights(config)) {
    const std::string& weight = sources.at(name);
    if (weight.empty() || sources.at(scale_name(name)) == scale_name(weight)) continue;
    throw Error(ErrorCode::kInvalidFile,
                "tensor \"" + scale_name(weight) + "\" is missing: the scales of an int8 matrix",
                checkpoint.directory().string());
  }
  return resolution;
}

EncoderWeights load_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config,
                            const LoadWeights& options, ThreadPool& pool) {
  const io::Resolution resolution = resolve_weights(checkpoint, config);
  check_room(load_need(config, options.precision, pool.threads()), 0, "the weights need",
             options.precision.compute == Compute::kF32
                 ? "--compute bf16 needs half of it, int8 a quarter"
                 : "take a smaller model, or free memory");
  if (options.check_tensors) check_tensors(checkpoint, resolution, pool);
  const WeightReader reader(checkpoint, resolution, options.precision);
  EncoderWeights weights;
  weights.precision = options.precision;
  weights.names = resolution.report;
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    if (tensor.name.ends_with(".scale") || !reader.has(tensor.name)) continue;
    weights.parameters += element_count(tensor.shape);
  }
  weights.embeddings = read_embeddings(reader, config);
  weights.layers.resize(static_cast<size_t>(config.layers));
  pool.run(config.layers,
           [&](int64_t layer, int) { weights.layers[layer] = read_layer(reader, config, layer); });
  if (config.names->final_norm != nullptr) {
    weights.final_norm = reader.norm(config.names->final_norm, config.layer_norm_eps);
  }
  if (config.names->pooler == nullptr) return weights;
  const std::string pooler = config.names->pooler;
  weights.has_pooler = reader.has(pooler + ".weight") && reader.has(pooler + ".bias");
  if (weights.has_pooler)
    pool.run(1, [&](int64_t, int) { weights.pooler.dense = reader.linear(pooler); });
  return weights;
}

}  // namespace longformer
